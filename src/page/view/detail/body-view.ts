import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import type { BodyKind } from '../../content/kind.ts';
import { exactSize, formatSize } from '../../content/size.ts';
import { el } from '../../el.ts';
import type { Entry } from '../../model/entry.ts';
import { ContentView } from './body/content-view.ts';
import { HexView } from './body/hex-view.ts';
import { TextView } from './body/text-view.ts';
import type { Content } from './content.ts';
import { DownloadButton } from './download.ts';
import type { WholeBody } from './whole-body.ts';

export interface BodyProps {
  entry: Entry;
  content: Content;
  /** Whether the entry is being read. */
  isLoading: boolean;
  whole: WholeBody;
  wrap: boolean;
  setWrap: (wrap: boolean) => void;
}

type ShowAs = 'content' | 'sent' | 'hex';

const NAMES: Record<BodyKind['kind'], string> = {
  empty: '',
  json: 'JSON',
  ndjson: 'NDJSON',
  form: 'Form',
  multipart: 'Multipart',
  xml: 'XML',
  text: 'Text',
  image: 'Image',
  binary: 'Hex',
};

/** The body as what it is, or as the text or the bytes that were sent. */
export function BodyView({ entry, content, isLoading, whole, wrap, setWrap }: BodyProps): ComponentChild {
  const { bytes, kind, isCut } = content;
  const [wanted, setAs] = useState<ShowAs>('content');
  const choices = choicesOf(content);
  const as = choices.some(([choice]) => choice === wanted) ? wanted : 'content';
  const hasLines = as === 'sent' || (as === 'content' && ['json', 'xml', 'text'].includes(kind.kind));
  if (entry.size === 0) return el('p', { class: 'note' }, 'The body is empty.');
  return [
    el(
      'div',
      { class: 'body-tools' },
      el(
        'div',
        { class: 'segments', role: 'group', 'aria-label': 'Show the body as' },
        choices.map(([choice, name]) => toggle(name, choice === as, () => setAs(choice))),
      ),
      hasLines && toggle('Wrap lines', wrap, () => setWrap(!wrap)),
    ),
    isCut && h(CutNotice, { entry, shown: bytes.length, isLoading, whole }),
    el('div', { class: 'content', 'data-wrap': wrap ? 'true' : 'false' }, viewOf(content, as)),
  ];
}

interface CutProps {
  entry: Entry;
  /** How many bytes are shown. */
  shown: number;
  isLoading: boolean;
  whole: WholeBody;
}

function CutNotice({ entry, shown, isLoading, whole }: CutProps): ComponentChild {
  const { size } = entry;
  const { state, load } = whole;
  const all = el('span', { title: exactSize(size) }, formatSize(size));
  return el(
    'p',
    { class: 'cut-notice', role: 'note' },
    el('span', null, shown === 0 ? 'Nothing is shown of ' : `Shown: the first ${formatSize(shown)} of `, all),
    isLoading || state === 'loading'
      ? ' Loading more …'
      : [
          load !== undefined && el('button', { class: 'small', onClick: load }, 'Show all'),
          h(DownloadButton, { entry, label: 'Download' }),
        ],
    typeof state === 'object' && el('span', { class: 'error', role: 'alert' }, state.error),
  );
}

function viewOf({ bytes, kind, isCut, text }: Content, as: ShowAs): ComponentChild {
  if (as === 'hex') return h(HexView, { bytes });
  if (as === 'sent' && text !== undefined) return h(TextView, { text });
  return bytes.length === 0 ? null : h(ContentView, { bytes, kind, isCut });
}

/** The first choice is what the body is. */
function choicesOf({ kind: { kind }, text }: Content): [ShowAs, string][] {
  if (kind === 'empty') return [];
  const choices: [ShowAs, string][] = [['content', NAMES[kind]]];
  if (text !== undefined && kind !== 'text') choices.push(['sent', 'As sent']);
  if (kind !== 'binary') choices.push(['hex', 'Hex']);
  return choices;
}

function toggle(name: string, pressed: boolean, onClick: () => void): ComponentChild {
  return el('button', { key: name, class: 'small', 'aria-pressed': pressed ? 'true' : 'false', onClick }, name);
}

import { h, type ComponentChild } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Bytes } from '../../../content/bytes.ts';
import { kindOf, type BodyKind } from '../../../content/kind.ts';
import { MAX_PARTS, multipartParts, type Part } from '../../../content/multipart.ts';
import { exactSize, formatCount, formatSize } from '../../../content/size.ts';
import { el } from '../../../el.ts';
import { saveFile } from '../../save.ts';
import { LongText } from './long-text.ts';
import { usePages } from './pages.ts';

const PARTS_AT_FIRST = 10;

interface MultipartProps {
  bytes: Bytes;
  boundary: string;
  show: (bytes: Bytes, kind: BodyKind, isCut: boolean) => ComponentChild;
}

/** The parts of a multipart body, each by its own content. */
export function MultipartView({ bytes, boundary, show }: MultipartProps): ComponentChild {
  const parts = useMemo(() => multipartParts(bytes, boundary), [bytes, boundary]);
  const [shown, more] = usePages(parts.length, PARTS_AT_FIRST, 'parts');
  const count = `${formatCount(parts.length)} ${parts.length === 1 ? 'part' : 'parts'}`;
  return [
    el('p', { class: 'note' }, parts.length === MAX_PARTS ? `The first ${count}` : count),
    parts.slice(0, shown).map((part, i) => h(PartView, { part, number: i + 1, show, key: i })),
    more,
  ];
}

interface PartProps {
  part: Part;
  number: number;
  show: MultipartProps['show'];
}

function PartView({ part, number, show }: PartProps): ComponentChild {
  const { bytes, name, filename, contentType, unfinished } = part;
  const kind = useMemo(() => kindOf(bytes, contentType ?? '', unfinished === true), [bytes, contentType]);
  return el(
    'section',
    { class: 'part', 'aria-label': `Part ${number}` },
    el(
      'header',
      { class: 'part-head' },
      el('h3', null, name === undefined ? `Part ${number}` : h(LongText, { text: name })),
      filename !== undefined && el('span', { class: 'part-file' }, 'file ', h(LongText, { text: filename })),
      contentType !== undefined && el('span', null, h(LongText, { text: contentType })),
      el('span', { title: exactSize(bytes.length) }, formatSize(bytes.length)),
      unfinished === true && el('span', { class: 'warning' }, 'not whole'),
      el(
        'button',
        {
          class: 'quiet small',
          'aria-label': `Download part ${number}`,
          onClick: () => saveFile(bytes, `part-${number}.bin`),
        },
        'Download',
      ),
    ),
    kind.note !== undefined && el('p', { class: 'note warning' }, kind.note),
    show(bytes, kind, unfinished === true),
  );
}

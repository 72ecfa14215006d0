import { h, type ComponentChild } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatCount } from '../../content/size.ts';
import { el } from '../../el.ts';
import type { Feed } from '../../state/feed.ts';
import { useInspector, useStore } from '../context.ts';
import { CopyButton } from '../copy.ts';
import { useNow, useOpenEndpoint } from './hooks.ts';
import { captureUrl, curlTo, expiryInWords } from './in-words.ts';
import { sendTest } from './send-test.ts';

/** What to do with an endpoint of which no capture is stored. */
export function FirstVisit({ endpointId }: { endpointId: string }): ComponentChild {
  const { settings, open } = useInspector();
  const feed = useStore(open)?.feed;
  const endpoint = useOpenEndpoint();
  const now = useNow();
  const url = captureUrl(settings.captureBase, endpoint?.record ?? { id: endpointId, alias: null });
  const curl = curlTo(url);
  const isExpired = endpoint?.record !== undefined && expiryInWords(endpoint.record, now).state === 'past';
  return el(
    'section',
    { class: 'first-visit', 'aria-labelledby': 'first-visit' },
    el('h2', { id: 'first-visit' }, isExpired ? 'This endpoint has expired' : 'Send a webhook to this URL'),
    isExpired
      ? el('p', null, 'Senders get 410 Gone, and nothing more is captured. A new endpoint has a URL of its own.')
      : [
          el(
            'p',
            null,
            'Paste it where your provider asks for a webhook URL. Any method, path below it and body will do.',
          ),
          h(UrlField, { url, key: url }),
          el('h3', null, 'Or try it in a shell'),
          el('pre', { class: 'command', tabIndex: 0, 'aria-label': 'Command' }, curl),
          el(
            'div',
            { class: 'buttons' },
            h(CopyButton, { text: curl, label: 'Copy command', what: 'The command' }),
            settings.capturesHere && h(TestButton, { endpointId }),
          ),
          !settings.capturesHere &&
            el('p', { class: 'hint' }, 'Webhooks go to another origin, which this page may not call: use the command.'),
          feed !== undefined && h(Waiting, { feed, captured: endpoint?.captured ?? 0 }),
        ],
  );
}

function UrlField({ url }: { url: string }): ComponentChild {
  const input = useRef<HTMLTextAreaElement>(null);
  // Selected, so that it can be copied at once; but the focus stays where somebody types or chooses.
  useLayoutEffect(() => {
    const isBusy = document.querySelector('dialog[open], .header [aria-expanded=true], :is(input, textarea):focus') !== null;
    // Selecting gives the focus too.
    if (!isBusy) input.current?.select();
  }, []);
  return el(
    'div',
    { class: 'with-button' },
    // An input would show a part of it on a phone.
    el('textarea', {
      ref: input,
      rows: 1,
      readOnly: true,
      value: url,
      spellcheck: false,
      'aria-label': 'URL of this endpoint',
      onFocus: (event) => event.currentTarget.select(),
    }),
    h(CopyButton, { text: url, label: 'Copy', what: 'The URL' }),
  );
}

function TestButton({ endpointId }: { endpointId: string }): ComponentChild {
  const [state, setState] = useState<{ busy: boolean; problem?: string | undefined }>({ busy: false });
  const send = async (): Promise<void> => {
    setState({ busy: true });
    setState({ busy: false, problem: await sendTest(endpointId) });
  };
  return [
    el(
      'button',
      { type: 'button', class: 'primary', disabled: state.busy, onClick: () => void send() },
      'Send a test request',
    ),
    state.problem !== undefined && el('p', { class: 'error', role: 'alert' }, state.problem),
  ];
}

/** The light is that of the header: what cannot arrive is not waited for. */
function Waiting({ feed, captured }: { feed: Feed; captured: number }): ComponentChild {
  const link = useStore(feed.state, (now) => now.link);
  const waiting = captured === 0 ? 'Waiting for the first request …' : 'Waiting for the next request …';
  const words = {
    live: waiting,
    connecting: waiting,
    'catching-up': 'Catching up: requests are coming in …',
    reconnecting: 'The connection is lost: requests will be shown once it is back',
    'not-live': 'There are no live events here: refresh after sending a request',
  }[link.state];
  return [
    el(
      'p',
      { class: 'waiting', role: 'status', 'data-state': link.state },
      el('span', { class: 'light', 'aria-hidden': 'true' }),
      words,
    ),
    link.state === 'not-live' &&
      el('button', { type: 'button', onClick: () => void feed.refresh() }, 'Look for requests'),
    captured > 0 &&
      el('p', { class: 'hint' }, `${formatCount(captured)} were captured here before; none of them is stored now.`),
  ];
}

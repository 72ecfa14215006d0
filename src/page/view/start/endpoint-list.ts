import { h, type ComponentChild, type ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatCount } from '../../content/size.ts';
import { el } from '../../el.ts';
import type { Endpoint } from '../../state/endpoints.ts';
import { useInspector, useStore } from '../context.ts';
import { useNow, type Popup } from './hooks.ts';
import { expiryInWords, lastInWords, matching, nameOf } from './in-words.ts';

/** With more, there is a field to find one. */
const FEW = 8;

/** The field finds the others. */
const SHOWN = 100;

/** The user's endpoints; arrows and Enter choose one, or a press. */
export function EndpointList({ popup }: { popup: Popup }): ComponentChild {
  const { endpoints, address, go } = useInspector();
  const { list, total, unlisted } = useStore(endpoints.state);
  const current = useStore(address, (now) => now.endpoint);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(current);
  const box = useRef<HTMLDivElement>(null);
  const now = useNow();
  const listId = useId();
  const all = unlisted === undefined ? list : [unlisted, ...list];
  const found = matching(all, text);
  const shown = found.slice(0, SHOWN);
  const active = shown.find(({ id }) => id === chosen) ?? shown[0];
  const hasField = all.length > FEW;
  // The field may come later, with the endpoints.
  useLayoutEffect(() => box.current?.querySelector<HTMLElement>('input, [role=listbox]')?.focus(), [hasField]);
  useLayoutEffect(() => box.current?.querySelector('[data-active]')?.scrollIntoView({ block: 'nearest' }));

  const choose = ({ id }: Endpoint): void => {
    popup.close();
    go({ endpoint: id });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const target = moved(event, shown, active);
    if (target !== undefined) setChosen(target.id);
    else if (event.key === 'Enter' && active !== undefined) choose(active);
    else return;
    event.preventDefault();
  };
  const holder = { 'aria-activedescendant': active && `${listId}-${active.id}`, onKeyDown };
  const option = (endpoint: Endpoint): ComponentChild =>
    el(
      'div',
      {
        role: 'option',
        id: `${listId}-${endpoint.id}`,
        key: endpoint.id,
        'aria-selected': endpoint.id === current ? 'true' : 'false',
        'data-active': endpoint === active ? 'true' : undefined,
        onClick: () => choose(endpoint),
      },
      describe(endpoint, now),
    );
  const rest = Math.max(found.length - shown.length, text === '' ? total - list.length : 0);
  return el(
    'div',
    { class: 'popup switcher-popup', role: 'dialog', 'aria-label': 'Endpoints', ref: box },
    hasField &&
      el('input', {
        type: 'search',
        role: 'combobox',
        'aria-label': 'Find an endpoint',
        'aria-expanded': 'true',
        'aria-controls': listId,
        placeholder: `Find one of ${formatCount(total)} endpoints`,
        value: text,
        onInput: (event) => setText(event.currentTarget.value),
        ...holder,
      }),
    el(
      'div',
      { role: 'listbox', id: listId, 'aria-label': 'Endpoints', tabIndex: hasField ? -1 : 0, ...(!hasField && holder) },
      shown.map(option),
    ),
    shown.length === 0 && el('p', { class: 'hint' }, 'No endpoint has this in its name'),
    rest > 0 && el('p', { class: 'hint' }, `${formatCount(rest)} more: type a part of the name`),
    h(NewEndpointButton, { popup }),
  );
}

function NewEndpointButton({ popup }: { popup: Popup }): ComponentChild {
  const { dialog } = useInspector();
  const open = (): void => {
    popup.close();
    dialog.set({ name: 'create' });
  };
  return el('button', { type: 'button', class: 'quiet', onClick: open }, 'New endpoint …');
}

function describe(endpoint: Endpoint, now: number): ComponentChildren {
  const expiry = expiryInWords(endpoint, now);
  return [
    el('span', { class: 'option-name' }, nameOf(endpoint)),
    el('span', { class: 'option-count' }, `${formatCount(endpoint.request_count)} captured`),
    el('span', { class: 'option-last' }, `last: ${lastInWords(endpoint, now)}`),
    el('span', { class: 'expiry', 'data-state': expiry.state }, expiry.text),
  ];
}

/** The endpoint that a key moves to. Home and End act on the text while there is a field. */
function moved({ key, target }: KeyboardEvent, shown: readonly Endpoint[], active?: Endpoint): Endpoint | undefined {
  const at = active === undefined ? -1 : shown.indexOf(active);
  if (key === 'ArrowDown') return shown[Math.min(at + 1, shown.length - 1)];
  if (key === 'ArrowUp') return shown[Math.max(at - 1, 0)];
  if (target instanceof HTMLInputElement) return undefined;
  return key === 'Home' ? shown[0] : key === 'End' ? shown.at(-1) : undefined;
}

import { h, type ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { Modal } from './modal.ts';

const KEYS: [string, string][] = [
  ['j, k or ↓, ↑', 'next, previous request'],
  ['/', 'filter'],
  ['p', 'pause, resume'],
  ['?', 'this help'],
  ['Escape', 'close, or clear the filter'],
];

export function Help(): ComponentChild {
  return h(
    Modal,
    { title: 'Keyboard' },
    el(
      'dl',
      { class: 'keys' },
      KEYS.flatMap(([keys, does]) => [el('dt', null, keys), el('dd', null, does)]),
    ),
  );
}

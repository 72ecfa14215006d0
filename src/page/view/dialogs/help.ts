import { h, type ComponentChild } from 'preact';
import { el } from '../../el.ts';
import { KEYS } from '../keys.ts';
import { Modal } from './modal.ts';

export function Help(): ComponentChild {
  return h(
    Modal,
    { title: 'Keyboard help' },
    el(
      'dl',
      { class: 'keys' },
      KEYS.flatMap(([keys, does]) => [el('dt', null, keys), el('dd', null, does)]),
    ),
  );
}

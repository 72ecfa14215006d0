import type { ComponentChild } from 'preact';
import { el } from '../../el.ts';

/** Readers are not told how to send: they were given something to read. */
export function NothingShared(): ComponentChild {
  return el('p', { class: 'nothing-shared' }, 'This endpoint has captured nothing yet that the link opens.');
}

/** What keys do, as the help shows it. */
export const KEYS: readonly [keys: string, does: string][] = [
  ['j, k or ↓, ↑', 'next, previous request'],
  ['Home, End, Page Up, Page Down', 'move through the list'],
  ['Shift + ↓, ↑', 'select several requests'],
  ['Enter', 'go to the open request'],
  ['/', 'filter'],
  ['p', 'pause, resume'],
  ['?', 'this help'],
  ['Escape', 'close, or clear the filter'],
];

import { expect, test } from 'vitest';
import type { SearchState } from '../../../src/page/state/search.ts';
import { countInWords, gapsInWords, noneInWords, searchInWords } from '../../../src/page/view/list/list-status.ts';

test('the count tells what is loaded, and of how many', () => {
  const counts = { rows: 12, loaded: 1_200, stored: 81_234, older: 'more', filtered: false } as const;
  expect(countInWords(counts)).toBe('1,200 of 81,234 loaded');
  expect(countInWords({ ...counts, filtered: true })).toBe('12 of 1,200');
  expect(countInWords({ ...counts, older: 'none', stored: 1_200 })).toBe('1,200 requests');
  expect(countInWords({ ...counts, older: 'none', loaded: 1, stored: 1 })).toBe('1 request');
});

test('what a filter has not looked at is said', () => {
  expect([noneInWords(1), noneInWords(1_200)]).toEqual([
    'The loaded request does not match',
    'None of the 1,200 loaded requests match',
  ]);
  expect(gapsInWords({ older: 'none', unsure: 0 })).toEqual([]);
  expect(gapsInWords({ older: 'full', unsure: 1 })).toEqual([
    'older entries are not loaded',
    '1 body is not wholly loaded',
  ]);
});

test('a search says how far it is', () => {
  const search = { running: true, found: [], scanned: 0, bodySkipped: 0, more: true } as unknown as SearchState;
  const found = Array.from({ length: 12 }) as SearchState['found'];
  expect(searchInWords(search, 81_234)).toBe('Searching …, found 0');
  expect(searchInWords({ ...search, scanned: 2_000, found }, 81_234)).toBe('Searched 2,000 of 81,234 …, found 12');
  expect(searchInWords({ ...search, running: false, scanned: 2_000, found }, 81_234)).toBe(
    'Searched 2,000 of 81,234, found 12',
  );
  expect(searchInWords({ ...search, total: 1_204, found }, 81_234)).toBe('1,204 match …, found 12');
  expect(searchInWords({ ...search, running: false, more: false, bodySkipped: 3, found }, 81_234)).toBe(
    'Searched all 81,234, found 12; 3 bodies were too long to look at',
  );
});

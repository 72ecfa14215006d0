import { expect, test } from 'vitest';
import type { Entry } from '../../../src/page/model/entry.ts';
import { comparable, previousInWords, previousLike } from '../../../src/page/state/comparable.ts';

const entry = (seq: number, path: string, event: string, method = 'POST'): Entry => ({
  id: `id ${seq}`,
  endpoint_id: 'endpoint',
  seq,
  method,
  path,
  headers: { 'x-github-event': event },
  query: {},
  body: '',
  body_encoding: 'utf8',
  content_type: '',
  ip: '',
  user_agent: '',
  size: 0,
  created_at: '2026-11-22T12:00:00.000Z',
});

const ENTRIES = [
  entry(1, '/h/x/a', 'push'),
  entry(2, '/h/x/a', 'ping'),
  entry(3, '/h/x/b', 'push'),
  entry(4, '/h/x/a', 'push', 'PUT'),
  entry(5, '/h/x/a', 'push'),
  entry(6, '/h/x/a', 'push'),
];

test('the one before has the same event if there is one, otherwise the same path; nothing else is like it', () => {
  const before = (at: number): number | undefined => previousLike(ENTRIES, ENTRIES[at] as Entry)?.seq;
  expect([5, 4, 3, 2, 1, 0].map(before)).toEqual([5, 1, undefined, undefined, 1, undefined]);
});

test('those with the same method and path are offered first, the newest of them before the others', () => {
  expect(comparable(ENTRIES, ENTRIES[4] as Entry).map(({ seq }) => seq)).toEqual([6, 2, 1, 4, 3]);
});

test('why it was chosen is said by event and sender', () => {
  const words = (at: number): string =>
    previousInWords(ENTRIES[at] as Entry, previousLike(ENTRIES, ENTRIES[at] as Entry) as Entry);
  expect(words(5)).toBe('the previous push of GitHub to this path');
  expect(words(1)).toBe('the previous POST to this path, of another event');
  const plain = { ...entry(7, '/h/x/c', ''), headers: {} };
  expect(previousInWords(plain, plain)).toBe('the previous POST to this path');
});

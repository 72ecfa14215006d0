import { expect, test } from 'vitest';
import { createBook } from '../../../src/page/model/book.ts';
import type { Entry } from '../../../src/page/model/entry.ts';
import { NO_FILTER, type Filter } from '../../../src/page/model/filter.ts';
import type { FeedState } from '../../../src/page/state/feed.ts';
import type { SearchState } from '../../../src/page/state/search.ts';
import { createShown } from '../../../src/page/state/shown.ts';
import { createStore } from '../../../src/page/state/store.ts';
import { entryOf } from './entries.ts';

/** A list on a real book, without a server. */
function openList({ filter = NO_FILTER, maxEntries = 20_000 }: { filter?: Filter; maxEntries?: number } = {}) {
  const book = createBook(maxEntries);
  const state = createStore({ version: 0 } as FeedState);
  const searched = createStore({ found: [] as readonly Entry[] } as SearchState);
  let listener: (entries: readonly Entry[], live: boolean) => void = () => {};
  const change = (): void => state.update((now) => ({ ...now, version: now.version + 1 }));
  const shown = createShown(
    { book, state, onAdded: (given) => void (listener = given) },
    { state: searched, stop: () => searched.set({ ...searched.get(), found: [] }) },
  );
  shown.filter(filter);
  return {
    shown,
    add(entries: Entry[], live = true) {
      listener(book.add(entries), live);
      change();
    },
    find: (entries: Entry[]) => searched.set({ ...searched.get(), found: entries }),
    forget(...seqs: number[]) {
      const ids = new Set(seqs.map((seq) => entry(seq).id));
      book.remove(ids);
      change();
      searched.update((now) => ({ ...now, found: now.found.filter(({ id }) => !ids.has(id)) }));
    },
    seqs: () => shown.state.get().rows.map(({ seq }) => seq),
    state: () => shown.state.get(),
  };
}

/** Every second one is a PUT. */
function entry(seq: number, fields: Partial<Entry> = {}): Entry {
  const id = `019aa111-2222-7333-8444-${String(seq).padStart(12, '0')}`;
  return { ...entryOf({ method: seq % 2 === 0 ? 'PUT' : 'POST', body: `order ${seq}` }), id, seq, ...fields };
}

function entries(from: number, to: number): Entry[] {
  return Array.from({ length: to - from + 1 }, (_none, i) => entry(from + i));
}

const PUTS: Filter = { ...NO_FILTER, methods: ['PUT'] };

test('shows what arrives, each entry once, in the order of seq', () => {
  const list = openList();
  list.add(entries(3, 5), false);
  list.add([entry(7), entry(6), entry(7)]);
  list.add(entries(1, 2), false);
  expect(list.seqs()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(list.state()).toMatchObject({ arrived: 2, held: 0, paused: false });
});

test('a filter shows what matches of what is there and of what arrives', async () => {
  const list = openList();
  list.add(entries(1, 6));
  list.shown.filter(PUTS);
  await expect.poll(() => list.seqs()).toEqual([2, 4, 6]);
  list.add(entries(7, 10));
  expect(list.seqs()).toEqual([2, 4, 6, 8, 10]);
  list.shown.filter(NO_FILTER);
  await expect.poll(() => list.seqs()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test('looks at each arrival once, however many entries there are', () => {
  const list = openList({ filter: { ...NO_FILTER, path: '/orders' } });
  let looks = 0;
  const watched = (seq: number): Entry =>
    Object.defineProperty(entry(seq), 'path', { get: () => (looks += 1) && '/h/x/orders', enumerable: true });
  list.add(Array.from({ length: 500 }, (_none, i) => watched(i + 1)));
  const ofOne = looks / 500;
  looks = 0;
  list.add([watched(501)]);
  expect(looks).toBe(ofOne);
  expect(list.seqs()).toHaveLength(501);
});

test('a pause holds back what is newer, matching or not, and a resume loses nothing', async () => {
  const list = openList({ filter: PUTS });
  list.add(entries(5, 8));
  list.shown.pause(true);
  list.shown.pause(true);
  list.add(entries(9, 14));
  list.add(entries(1, 4), false);
  expect(list.seqs()).toEqual([2, 4, 6, 8]);
  expect(list.state()).toMatchObject({ paused: true, held: 3 });
  list.shown.filter(NO_FILTER);
  await expect.poll(() => list.state()).toMatchObject({ filtering: false, held: 6 });
  expect(list.seqs()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  list.shown.pause(false);
  expect(list.seqs()).toEqual(entries(1, 14).map(({ seq }) => seq));
  expect(list.state()).toMatchObject({ paused: false, held: 0 });
});

test('deleted entries leave the list: all, filtered, held back and found ones', async () => {
  const list = openList();
  list.add(entries(11, 20), false);
  list.shown.pause(true);
  list.add(entries(21, 24));
  list.forget(12, 22);
  await expect.poll(() => list.state().held).toBe(3);
  expect(list.seqs()).toEqual([11, 13, 14, 15, 16, 17, 18, 19, 20]);

  list.shown.filter(PUTS);
  await expect.poll(() => list.seqs()).toEqual([14, 16, 18, 20]);
  list.find([entry(14), entry(4), entry(2)]);
  await expect.poll(() => list.seqs()).toEqual([2, 4, 14, 16, 18, 20]);
  list.forget(4, 14, 16);
  await expect.poll(() => list.seqs()).toEqual([2, 18, 20]);
  list.forget(24);
  await expect.poll(() => list.state().held).toBe(0);
});

test('an entry that is deleted while another one arrives leaves the list', async () => {
  const list = openList();
  list.add(entries(1, 3));
  list.forget(2);
  list.add([entry(4)]);
  await expect.poll(() => list.seqs()).toEqual([1, 3, 4]);
});

test('what the book has no room for leaves the list, unless it was found', async () => {
  const list = openList({ maxEntries: 5 });
  list.shown.filter(PUTS);
  list.add(entries(1, 5));
  list.find([entry(2)]);
  list.add(entries(6, 10));
  await expect.poll(() => list.seqs()).toEqual([2, 6, 8, 10]);
});

test('another filter forgets what was found for the one before', async () => {
  const list = openList();
  list.add(entries(5, 6));
  list.shown.filter(PUTS);
  list.find([entry(2)]);
  await expect.poll(() => list.seqs()).toEqual([2, 6]);
  list.shown.filter({ ...PUTS, methods: ['POST'] });
  await expect.poll(() => list.seqs()).toEqual([5]);
});

test('the same filter again changes nothing', () => {
  const list = openList({ filter: PUTS });
  list.add(entries(1, 4));
  const { version } = list.state();
  list.shown.filter({ ...PUTS });
  expect(list.state()).toMatchObject({ version, filtering: false });
});

test('counts entries whose body is not wholly loaded and could match', async () => {
  const list = openList({ filter: { ...NO_FILTER, q: 'needle' } });
  list.add([entry(1, { body_truncated: true }), entry(2, { body: 'a needle', body_truncated: true }), entry(3)]);
  expect(list.state()).toMatchObject({ unsure: 1 });
  expect(list.seqs()).toEqual([2]);
  list.forget(1);
  await expect.poll(() => list.state().unsure).toBe(0);
});

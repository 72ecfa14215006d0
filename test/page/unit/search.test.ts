import { expect, test } from 'vitest';
import { NO_FILTER } from '../../../src/page/model/filter.ts';
import type { Api } from '../../../src/page/state/api.ts';
import { createSearch, MAX_FOUND, type Search } from '../../../src/page/state/search.ts';
import { entryOf } from './entries.ts';

const FILTER = { ...NO_FILTER, q: 'order' };

/** A search whose API answers entries of which each second one matches, and fails or waits when told. */
function openSearch({ stored }: { stored: number }) {
  const asked: URLSearchParams[] = [];
  const control: { fail: string | undefined; wait: Promise<void> | undefined } = { fail: undefined, wait: undefined };
  const get = async (_path: string, query = new URLSearchParams(), signal?: AbortSignal) => {
    asked.push(query);
    await control.wait;
    signal?.throwIfAborted();
    if (control.fail !== undefined) throw new Error(control.fail);
    const limit = Number(query.get('limit'));
    const from = Number(query.get('before') ?? stored + 1);
    const seqs = Array.from({ length: Math.min(2 * limit, from - 1) }, (_none, i) => from - 1 - i);
    const requests = seqs.filter((seq) => seq % 2 === 0).map((seq) => ({ ...entryOf({}), id: String(seq), seq }));
    const last = seqs.at(-1) ?? 1;
    const body = { requests, scanned: seqs.length, body_skipped: 0, next: last > 1 ? String(last) : null };
    return { body, pending: undefined };
  };
  return { search: createSearch({ get } as unknown as Api), asked, control };
}

const idle = (search: Search) => expect.poll(() => search.state.get().running).toBe(false);

test('goes on from page to page, waits after 200, and goes on to the end when told', async () => {
  const { search, asked } = openSearch({ stored: 500 });
  search.start('e', FILTER);
  await idle(search);
  expect(search.state.get()).toMatchObject({ scanned: 400, more: true, error: undefined });
  expect(search.state.get().found).toHaveLength(200);
  search.goOn();
  await idle(search);
  expect(search.state.get()).toMatchObject({ scanned: 500, more: false });
  expect(search.state.get().found.map(({ seq }) => seq)).toEqual(Array.from({ length: 250 }, (_n, i) => 500 - 2 * i));
  search.goOn();
  expect(asked).toHaveLength(5);
  expect(asked[0]?.get('q')).toBe('order');
});

test('says an error, and goes on from there', async () => {
  const { search, control } = openSearch({ stored: 100 });
  control.fail = 'Hookbay is unreachable';
  search.start('e', FILTER);
  await idle(search);
  expect(search.state.get()).toMatchObject({ error: 'Hookbay is unreachable', more: true, found: [] });
  control.fail = undefined;
  search.goOn();
  await idle(search);
  expect(search.state.get()).toMatchObject({ error: undefined, more: false, scanned: 100 });
});

test('a halt keeps what was found; an answer that was under way is dropped, and asked for again', async () => {
  const { search, control, asked } = openSearch({ stored: 100 });
  let release = (): void => {};
  control.wait = new Promise((resolve) => (release = resolve));
  search.start('e', FILTER);
  search.halt();
  expect(search.state.get()).toMatchObject({ running: false, more: true, filter: FILTER });
  search.goOn();
  release();
  await idle(search);
  expect(asked).toHaveLength(2);
  expect(search.state.get().found).toHaveLength(50);
});

test('keeps a bounded number', async () => {
  const { search, asked } = openSearch({ stored: 100_000 });
  search.start('e', FILTER);
  for (let i = 0; i < 20; i += 1) {
    await idle(search);
    search.goOn();
  }
  expect(search.state.get().found).toHaveLength(MAX_FOUND);
  expect(asked).toHaveLength(MAX_FOUND / 50);
});

test('forgets what is deleted, and all when it ends', async () => {
  const { search } = openSearch({ stored: 10 });
  search.start('e', FILTER);
  await idle(search);
  search.forget(new Set(['10', '4']));
  expect(search.state.get().found.map(({ seq }) => seq)).toEqual([8, 6, 2]);
  search.stop();
  expect(search.state.get()).toMatchObject({ filter: undefined, found: [], more: false });
});

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createRoster } from '../../src/roster.ts';

test('a roster holds what was added and not removed', () => {
  const roster = createRoster<string>();
  const remove = ['a', 'b', 'c', 'd'].map((item) => roster.add(item));
  remove[1]?.();
  remove[1]?.();
  expect([...roster].toSorted()).toEqual(['a', 'c', 'd']);
  remove[3]?.();
  remove[0]?.();
  expect([...roster]).toEqual(['c']);
  roster.add('e');
  remove[2]?.();
  expect([...roster]).toEqual(['e']);
  expect(roster.size()).toBe(1);
});

test('items may leave while they are listed', () => {
  const roster = createRoster<number>();
  const remove = [0, 1, 2, 3].map((item) => roster.add(item));
  const seen: number[] = [];
  for (const item of roster) {
    seen.push(item);
    remove[item]?.();
  }
  expect(seen).toEqual([0, 1, 2, 3]);
  expect(roster.size()).toBe(0);
});

/** Of 30,000 items of 1 KiB, of which 100 are open at a time, those that got into the old generation, in MiB. */
const MEASURE = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { createRoster } from ${JSON.stringify(new URL('../../src/roster.ts', import.meta.url).href)};
  const set = new Set();
  const roster = createRoster();
  const add = {
    set: (item) => (set.add(item), () => set.delete(item)),
    roster: roster.add,
  }[process.argv[1]];
  const old = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_used_size;
  // Old themselves, as in a process that has been idle.
  add({})();
  gc();
  gc();
  const before = old();
  const open = [];
  for (let n = 0; n < 30_000; n += 1) {
    open.push(add({ bytes: new Array(128).fill(n) }));
    if (open.length > 100) open.shift()();
  }
  console.log((old() - before) / 2 ** 20);
`;

async function promoted(kind: 'set' | 'roster'): Promise<number> {
  const args = ['--expose-gc', '--max-semi-space-size=1', '--input-type=module', '--eval', MEASURE, kind];
  return Number((await promisify(execFile)(process.execPath, args)).stdout);
}

test('what has left a roster is not kept until a full garbage collection, as with a Set', async () => {
  expect(await promoted('set')).toBeGreaterThan(10);
  expect(await promoted('roster')).toBeLessThan(3);
});

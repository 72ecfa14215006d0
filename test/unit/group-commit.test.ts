import { describe, expect, test, vi } from 'vitest';
import { createGroupCommit, type GroupCommitOptions } from '../../src/group-commit.ts';

/** Flushes that end when the test ends them. */
function harness(
  options: Partial<Pick<GroupCommitOptions<number, string>, 'maxItems' | 'maxBytes' | 'maxInFlight' | 'lingerMs'>> = {},
) {
  const flushes: { items: number[]; finish: (error?: Error) => void }[] = [];
  const group = createGroupCommit<number, string>({
    maxItems: 4,
    maxBytes: 1_000,
    maxInFlight: 2,
    ...options,
    sizeOf: (item) => item,
    flush: (items) =>
      new Promise((resolve, reject) => {
        flushes.push({
          items,
          finish: (error) => (error === undefined ? resolve(items.map((item) => `done ${item}`)) : reject(error)),
        });
      }),
  });
  return { group, flushes, items: () => flushes.map((flush) => flush.items) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('group commit', () => {
  test('an idle one flushes at once; what arrives meanwhile forms the next flush', async () => {
    const { group, flushes, items } = harness();
    const first = group.submit(1);
    await turn();
    expect(items()).toEqual([[1]]);
    const rest = [group.submit(2), group.submit(3)];
    await turn();
    expect(items()).toEqual([[1]]);
    flushes[0]?.finish();
    await expect(first).resolves.toBe('done 1');
    expect(items()).toEqual([[1], [2, 3]]);
    flushes[1]?.finish();
    await expect(Promise.all(rest)).resolves.toEqual(['done 2', 'done 3']);
  });

  test('items of one turn of the event loop share a flush', async () => {
    const { group, items } = harness();
    for (const item of [1, 2, 3]) void group.submit(item);
    await turn();
    expect(items()).toEqual([[1, 2, 3]]);
  });

  test('full batches overlap, up to the bound', async () => {
    const { group, items } = harness({ maxItems: 2 });
    for (let item = 1; item <= 9; item += 1) void group.submit(item);
    await turn();
    expect(items()).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  test('a flush is bounded in bytes, and an item beyond the bound is flushed alone', async () => {
    const { group, items, flushes } = harness({ maxInFlight: 1, maxItems: 100 });
    for (const item of [400, 500, 200, 5_000, 1, 2]) void group.submit(item);
    for (let i = 0; i < 4; i += 1) {
      await turn();
      flushes[i]?.finish();
    }
    await group.idle();
    expect(items()).toEqual([[400, 500], [200], [5_000], [1, 2]]);
  });

  test('a failed flush refuses its items and the waiting ones, and later ones are flushed again', async () => {
    const { group, flushes, items } = harness();
    const failing = group.submit(1);
    await turn();
    const behind = group.submit(2);
    flushes[0]?.finish(new Error('no Redis'));
    await expect(failing).rejects.toThrow('no Redis');
    await expect(behind).rejects.toThrow('no Redis');
    const later = group.submit(3);
    await turn();
    flushes[1]?.finish();
    await expect(later).resolves.toBe('done 3');
    expect(items()).toEqual([[1], [3]]);
  });

  test('a flush lingers for the callers that were just answered, and no longer', async () => {
    const { group, flushes, items } = harness({ lingerMs: 60_000 });
    const first = group.submit(1);
    await turn();
    void group.submit(2);
    flushes[0]?.finish();
    await first;
    await turn();
    expect(items()).toEqual([[1]]);
    void group.submit(3);
    await turn();
    expect(items()).toEqual([[1], [2, 3]]);
  });

  test('it lingers for none where nobody waits, not behind a full batch, and not without end', async () => {
    const { group, flushes, items } = harness({ lingerMs: 1, maxItems: 2, maxInFlight: 1 });
    const first = group.submit(1);
    await turn();
    flushes[0]?.finish();
    await first;
    void group.submit(2);
    await turn();
    expect(items()).toEqual([[1], [2]]);
    const rest = [3, 4, 5].map((item) => group.submit(item));
    flushes[1]?.finish();
    await turn();
    expect(items()).toEqual([[1], [2], [3, 4]]);
    flushes[2]?.finish();
    await rest[0];
    await vi.waitUntil(() => items().length === 4);
    expect(items()[3]).toEqual([5]);
  });

  test('idle waits for all items', async () => {
    const { group, flushes } = harness();
    await group.idle();
    let idle = false;
    const submitted = group.submit(1);
    const waiting = group.idle().then(() => (idle = true));
    await turn();
    expect(idle).toBe(false);
    flushes[0]?.finish();
    await submitted;
    await waiting;
    expect(idle).toBe(true);
  });
});

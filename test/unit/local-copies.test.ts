import { expect, test } from 'vitest';
import { createLocalCopies } from '../../src/redis/local-copies.ts';

test('copies are limited in number, and where their sizes differ, in the sum of their bytes', async () => {
  const options = { max: 100, ttlMs: 60_000, mayKeep: () => true };
  const kept = async (bytes: number, max?: number): Promise<number> => {
    const copies = createLocalCopies<Buffer>({
      ...options,
      ...(max !== undefined && { bytes: { max, sizeOf: (value) => value.length } }),
    });
    for (let n = 0; n < 200; n += 1) await copies.read(`key ${n}`, async () => Buffer.alloc(bytes));
    return Array.from({ length: 200 }, (_none, n) => copies.peek(`key ${n}`)).filter(Boolean).length;
  };
  expect(await kept(1_000)).toBe(100);
  expect(await kept(10, 50_000)).toBe(100);
  expect(await kept(1_000, 50_000)).toBe(50);
  // One that is larger than all together is not kept, and read all the same.
  expect(await kept(60_000, 50_000)).toBe(0);
});

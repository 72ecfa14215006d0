import { describe, expect, test } from 'vitest';
import { createByteBudget } from '../../src/api/http/byte-budget.ts';

const MIB = 1024 * 1024;
const KIB64 = 64 * 1024;

/** Takes pieces until one is refused; returns how many bytes were taken. */
function fill(take: (bytes: number) => boolean, piece: number): number {
  let taken = 0;
  while (take(piece)) taken += piece;
  return taken;
}

describe('a budget of 256 MiB', () => {
  test('one endpoint alone gets 20 bodies of 8 MiB at once, and never the whole budget', () => {
    const budget = createByteBudget(256 * MIB);
    const open = () => budget.open({ userId: 'ann', endpointId: 'a' }).take(8 * MIB);
    for (let n = 0; n < 20; n += 1) expect(open()).toBe(true);
    expect(fill(open, 8 * MIB)).toBeLessThan(40 * MIB);
  });

  test.each([1, 2, 3])('%d users who take all they can leave room for another one', (users) => {
    const budget = createByteBudget(256 * MIB);
    for (let round = 0; round < 3; round += 1) {
      for (let user = 0; user < users; user += 1)
        fill((bytes) => budget.open({ userId: `user-${user}`, endpointId: `e-${user}` }).take(bytes), MIB);
    }
    expect(budget.open({ userId: 'new', endpointId: 'new' }).take(MIB)).toBe(true);
  });

  test('an endpoint that takes all it can leaves room for others of its user', () => {
    const budget = createByteBudget(256 * MIB);
    fill((bytes) => budget.open({ userId: 'ann', endpointId: 'a' }).take(bytes), MIB);
    expect(fill((bytes) => budget.open({ userId: 'ann', endpointId: 'b' }).take(bytes), MIB)).toBeGreaterThan(3 * MIB);
  });

  test('small bodies find room after large ones have taken their share', () => {
    const budget = createByteBudget(256 * MIB);
    for (let user = 0; user < 300; user += 1) fill((bytes) => budget.open({ userId: `user-${user}` }).take(bytes), MIB);
    expect(fill((bytes) => budget.open({ userId: 'small' }).take(bytes), KIB64)).toBeGreaterThan(10 * MIB);
  });
});

test("a user's only body may take all free memory, so that a small budget admits large bodies", () => {
  const budget = createByteBudget(32 * MIB);
  const only = budget.open({ userId: 'ann', endpointId: 'a' });
  expect(fill((bytes) => only.take(bytes), MIB)).toBe(30 * MIB);
  only.release();
  only.release();
  expect(budget.used()).toBe(0);
});

test('a body that grows from small to large moves its bytes, and releases all of them', () => {
  const budget = createByteBudget(32 * MIB);
  const holding = budget.open({ userId: 'ann' });
  for (let n = 0; n < 10; n += 1) expect(holding.take(30_000)).toBe(true);
  expect(budget.used()).toBe(300_000);
  holding.release();
  expect(budget.used()).toBe(0);
  expect(fill((bytes) => budget.open({ userId: 'bob' }).take(bytes), KIB64)).toBeGreaterThan(20 * MIB);
});

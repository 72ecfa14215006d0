import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createDelays } from '../../src/api/capture/delays.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const request = (): IncomingMessage =>
  ({ socket: Object.assign(new EventEmitter(), { destroyed: false, readableEnded: false }) }) as never;

test('500 wait at once on a process, 5 of an endpoint, and what ends makes room', async () => {
  const delays = createDelays();
  const wait = (endpoint: string): Promise<boolean> => delays.wait(request(), endpoint, 1_000);
  const waiting = Array.from({ length: 500 }, (_none, n) => wait(`endpoint ${n % 100}`));
  expect(delays.count()).toBe(500);
  expect(await wait('another')).toBe(false);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await Promise.all(waiting)).toEqual(Array(500).fill(true));
  expect(delays.count()).toBe(0);
  const again = Array.from({ length: 6 }, () => wait('endpoint 1'));
  expect(await again[5]).toBe(false);
  delays.stop();
  expect(await Promise.all(again)).toEqual(Array(6).fill(false));
  expect(await wait('endpoint 2')).toBe(false);
  expect([delays.count(), vi.getTimerCount()]).toEqual([0, 0]);
});

test('listeners and timers are gone after each wait, however it ends', async () => {
  const delays = createDelays();
  const ends = [
    () => vi.advanceTimersByTimeAsync(1_000),
    (req: IncomingMessage) => req.socket.emit('end'),
    (req: IncomingMessage) => req.socket.emit('close'),
  ];
  for (const end of ends) {
    const req = request();
    const waited = delays.wait(req, 'one', 1_000);
    await end(req);
    expect(await waited).toBe(end === ends[0]);
    expect([req.socket.listenerCount('end'), req.socket.listenerCount('close')]).toEqual([0, 0]);
  }
  expect([delays.count(), vi.getTimerCount()]).toEqual([0, 0]);
});

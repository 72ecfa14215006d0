import type { Redis } from 'ioredis';
import { withDeadline } from '../deadline.ts';
import { isForbidden } from './connections.ts';

export interface Listening {
  /** Whether published messages reach this process now. */
  isUp(): boolean;
  /** Resolves when all subscriptions so far are confirmed. Throws when Redis is unreachable, or forbids subscribing. */
  settled(): Promise<void>;
  stop(): void;
}

export interface ListeningOptions {
  subscriber: Redis;
  /** Subscribes. Redis answers a repetition too, so the same command is the heartbeat. */
  listen: () => Promise<unknown>;
  heartbeatMs: number;
  timeoutMs: number;
  /** Messages that are published from now on reach this process. */
  onUp?: () => void;
  /** Messages that are published from now on may be lost to this process. */
  onInterrupted: () => void;
  onForbidden?: (error: unknown) => void;
}

/**
 * Watches the connection of a subscription: messages that are published while it is down are lost to this process. The
 * heartbeat detects a connection whose peer vanished silently, and a Redis that forbids subscribing.
 */
export function watchListening(options: ListeningOptions): Listening {
  const { subscriber, heartbeatMs, timeoutMs, onUp, onInterrupted, onForbidden } = options;
  let up = false;
  let forbidden = false;
  let stopped = false;

  /** The running check; the result of an earlier one concerns a closed connection. */
  let latest: object | undefined;

  const listen = (): Promise<unknown> => withDeadline(timeoutMs, options.listen());
  async function check(): Promise<void> {
    const own = (latest = {});
    const error = await listen().then(
      () => undefined,
      (thrown: unknown) => thrown ?? new Error('refused'),
    );
    if (stopped || latest !== own) return;
    latest = undefined;
    if (error !== undefined) return onFailure(error);
    if (!up) onUp?.();
    up = true;
    forbidden = false;
  }
  function onFailure(error: unknown): void {
    interrupt();
    if (!isForbidden(error)) return subscriber.disconnect(true);
    if (!forbidden) onForbidden?.(error);
    forbidden = true;
  }
  function interrupt(): void {
    const wasUp = up;
    up = false;
    if (!stopped && wasUp) onInterrupted();
  }
  const onReady = (): void => void check();
  subscriber.on('ready', onReady);
  subscriber.on('close', interrupt);
  const heartbeat = setInterval(() => {
    if (latest === undefined && (up || forbidden)) void check();
  }, heartbeatMs);

  return {
    isUp: () => up,
    async settled() {
      await listen();
    },
    stop() {
      stopped = true;
      clearInterval(heartbeat);
      subscriber.off('ready', onReady);
      subscriber.off('close', interrupt);
    },
  };
}

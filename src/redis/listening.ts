import type { Redis } from 'ioredis';
import { withDeadline } from '../deadline.ts';
import { isForbidden } from './connections.ts';

export interface Listening {
  /** Whether what is published reaches this process now. */
  isUp(): boolean;
  /**
   * Resolves when every subscription that was asked for so far holds: Redis answers in order.
   * @throws when Redis does not answer in time, or does not let us listen
   */
  settled(): Promise<void>;
  stop(): void;
}

export interface ListeningOptions {
  subscriber: Redis;
  /** Subscribes. Redis answers a repetition, too, so that the same command is the heartbeat. */
  listen: () => Promise<unknown>;
  heartbeatMs: number;
  timeoutMs: number;
  /** What is published from now on reaches this process. */
  onUp?: () => void;
  /** What is published from now on may be lost to this process. */
  onInterrupted: () => void;
  /** Redis does not let us listen. */
  onForbidden?: (error: unknown) => void;
}

/**
 * Watches the connection that messages come in by: what is published while it is down is lost to this process.
 * A connection whose other end vanished without a word is found out by its silence, and a Redis that lets us
 * connect and not listen by being asked to.
 */
export function watchListening(options: ListeningOptions): Listening {
  const { subscriber, heartbeatMs, timeoutMs, onUp, onInterrupted, onForbidden } = options;
  let up = false;
  let forbidden = false;
  let stopped = false;

  /** The check that is under way: an earlier one was of a connection that is gone. */
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
    if (error !== undefined) return lose(error);
    if (!up) onUp?.();
    up = true;
    forbidden = false;
  }
  function lose(error: unknown): void {
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

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { withDeadline } from '../deadline.ts';
import { describeError, type Log } from '../log.ts';
import { redisKeys } from './keys.ts';
import { watchListening } from './listening.ts';

const HEARTBEAT_MS = 5_000;
const HEARTBEAT_TIMEOUT_MS = 3_000;
const CONFIRM_MS = 1_000;

/** How often one follower looks at most, and how long it waits for a wake-up before it looks without one. */
export const PACE = {
  atMostEveryMs: 100,
  /** A wake-up can be lost. */
  atLeastEveryMs: 5_000,
  /** Wake-ups do not reach this process: Redis is unreachable or forbids them, or they are switched off. */
  unheardEveryMs: 1_000,
};

/** Wakes up those who wait for captures of an endpoint, as soon as a worker has stored some. */
export interface WakeUps {
  /**
   * What is published after it resolves wakes the follower, unless Redis is unreachable. It never fails. An aborted
   * signal ends every wait.
   */
  follow(endpointId: string, signal: AbortSignal): Promise<Following>;
  stop(): void;
}

export interface Following {
  /** Resolves when it is time to look: after a wake-up since the last call, or after some time without one. */
  next(): Promise<void>;
  leave(): void;
}

export interface WakeUpOptions {
  subscriber: Redis | undefined;
  prefix: string;
  log: Log;
}

interface Channel {
  wakers: Set<() => void>;
  /** Whether Redis has confirmed the subscription, on the present connection. */
  confirmed: boolean;
  confirming: Promise<void>;
}

/**
 * Each endpoint has a sharded channel, to which only processes with followers subscribe. Messages are empty: they say
 * that there is something to read. After an interruption every follower looks, because messages may have been lost.
 */
export function startWakeUps({ subscriber, prefix, log }: WakeUpOptions): WakeUps {
  const channels = new Map<string, Channel>();
  const listening = subscriber && listen(subscriber);

  function listen(redis: Redis) {
    redis.on('smessage', (name: string) => wake(channels.get(name)));
    return watchListening({
      subscriber: redis,
      // A subscription that exists already: this finds out whether subscribing is allowed, too.
      listen: () => {
        const [name] = channels.keys();
        return name === undefined ? redis.ping() : redis.ssubscribe(name);
      },
      heartbeatMs: HEARTBEAT_MS,
      timeoutMs: HEARTBEAT_TIMEOUT_MS,
      onUp: () => void resume(redis),
      onInterrupted: () => {
        for (const channel of channels.values()) {
          channel.confirmed = false;
          wake(channel);
        }
      },
      onForbidden: (error) =>
        log.error(
          { error: describeError(error) },
          'Cannot subscribe to wake-ups, so waits and event streams look once a second; Redis 7 or later is needed, and its ACL has to allow ssubscribe on our prefix',
        ),
    });
  }

  async function resume(redis: Redis): Promise<void> {
    await Promise.all([...channels].map(([name, channel]) => subscribe(redis, name, channel)));
    for (const channel of channels.values()) wake(channel);
  }

  /** A failure leaves the channel unconfirmed; the heartbeat finds its cause. */
  function subscribe(redis: Redis, name: string, channel: Channel): Promise<void> {
    channel.confirming = withDeadline(CONFIRM_MS, redis.ssubscribe(name)).then(
      () => void (channel.confirmed = true),
      () => {},
    );
    return channel.confirming;
  }

  function open(name: string): Channel {
    const channel: Channel = { wakers: new Set(), confirmed: false, confirming: Promise.resolve() };
    channels.set(name, channel);
    if (subscriber !== undefined && listening?.isUp() === true) void subscribe(subscriber, name, channel);
    return channel;
  }

  function close(name: string): void {
    channels.delete(name);
    if (listening?.isUp() === true) subscriber?.sunsubscribe(name).catch(() => {});
  }

  return {
    async follow(endpointId, signal) {
      const name = redisKeys(prefix).stored(endpointId);
      const channel = channels.get(name) ?? open(name);
      const bell = createBell(signal);
      channel.wakers.add(bell.ring);
      await channel.confirming;
      return {
        next: () => bell.next(channel.confirmed ? PACE.atLeastEveryMs : PACE.unheardEveryMs),
        leave() {
          channel.wakers.delete(bell.ring);
          if (channel.wakers.size === 0 && channels.get(name) === channel) close(name);
        },
      };
    },
    stop: () => listening?.stop(),
  };
}

export async function wakeFollowers(redis: Redis, prefix: string, endpointId: string): Promise<void> {
  await redis.spublish(redisKeys(prefix).stored(endpointId), '');
}

function wake(channel: Channel | undefined): void {
  for (const ring of channel?.wakers ?? []) ring();
}

/** Remembers a ring until it is heard, and lets at least `PACE.atMostEveryMs` pass between two of them. */
function createBell(signal: AbortSignal) {
  let rung = false;
  let heardAt = Number.NEGATIVE_INFINITY;
  let waiting = new AbortController();
  const ring = (): void => {
    rung = true;
    waiting.abort();
  };
  signal.addEventListener('abort', ring);

  return {
    ring,
    async next(atMostMs: number): Promise<void> {
      waiting = new AbortController();
      if (!rung && !signal.aborted) await pause(atMostMs, waiting.signal);
      await pause(heardAt + PACE.atMostEveryMs - performance.now(), signal);
      rung = false;
      heardAt = performance.now();
    },
  };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal, ref: false }).catch(() => {});
}

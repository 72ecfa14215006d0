import type { Redis } from 'ioredis';
import type { CustomResponse } from '../domain/custom-response.ts';
import { describeError, type Log } from '../log.ts';
import { announcedKeys } from './announcements.ts';
import { redisKeys } from './keys.ts';
import { watchListening, type Listening } from './listening.ts';
import { createLocalCopies, type LocalCopies } from './local-copies.ts';

/** How long a process relies on its own copy if an announcement is lost. */
const LOCAL_TTL_MS = 5_000;
const LOCAL_MAX = 20_000;

/** Bytes of endpoints with custom responses, each of which may have 24 KiB. */
const LOCAL_MAX_BYTES = 32 * 1024 * 1024;

/** Together: how long a process relies on its copies after its connection for announcements hangs. */
const HEARTBEAT_MS = 1_000;
const HEARTBEAT_TIMEOUT_MS = 2_000;

export interface CachedEndpoint {
  id: string;
  userId: string;
  /** Unix milliseconds, null for a permanent endpoint. */
  expiresAt: number | null;
  /** In place of the receipt; null = the receipt. */
  response: CustomResponse | null;
}

export interface EndpointCopiesOptions {
  subscriber: Redis;
  prefix: string;
  log: Log;
}

/** A process's own copies of endpoints, by keys of Redis. */
export interface EndpointCopies {
  aliases: LocalCopies<string>;
  endpoints: LocalCopies<CachedEndpoint>;
  plans: LocalCopies<string>;
  drop(keys: readonly string[]): void;
  /** Another number after any copy was dropped. */
  version: () => number;
  listening: Listening;
}

/** The copies are empty while announcements do not reach this process. */
export function createEndpointCopies({ subscriber, prefix, log }: EndpointCopiesOptions): EndpointCopies {
  const { announcements } = redisKeys(prefix);
  const mayKeep = (): boolean => listening.isUp();
  const options = { max: LOCAL_MAX, ttlMs: LOCAL_TTL_MS, mayKeep };
  const aliases = createLocalCopies<string>(options);
  const endpoints = createLocalCopies<CachedEndpoint>({
    ...options,
    bytes: { max: LOCAL_MAX_BYTES, sizeOf: bytesOf },
  });
  const plans = createLocalCopies<string>(options);
  const all = [aliases, endpoints, plans];
  let version = 0;

  function drop(changed: readonly string[]): void {
    version += 1;
    for (const key of changed) for (const copies of all) copies.drop(key);
  }
  function clear(): void {
    version += 1;
    for (const copies of all) copies.clear();
  }
  subscriber.on('message', (_channel, message) => {
    const changed = announcedKeys(message);
    if (changed === undefined) clear();
    else drop(changed);
  });
  // Announcements that were missed are unknown, so this process relies on Redis until it is subscribed again.
  const listening: Listening = watchListening({
    subscriber,
    listen: () => subscriber.subscribe(announcements),
    heartbeatMs: HEARTBEAT_MS,
    timeoutMs: HEARTBEAT_TIMEOUT_MS,
    onUp: clear,
    onInterrupted: clear,
    onForbidden(error) {
      log.warn({ error: describeError(error) }, 'Cannot subscribe to endpoint changes; every look-up queries Redis');
    },
  });
  return { aliases, endpoints, plans, drop, version: () => version, listening };
}

function bytesOf({ response }: CachedEndpoint): number {
  return 512 + (response === null ? 0 : response.body.length + JSON.stringify(response.headers).length);
}

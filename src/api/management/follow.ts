import type { Router } from '@koa/router';
import type { WakeUps } from '../../redis/wake-ups.ts';
import type { Log } from '../../log.ts';
import type { AuthOptions } from '../auth/token.ts';
import type { ApiMetrics } from '../metrics.ts';
import { eventsRoute } from './events.ts';
import { createLook } from './look.ts';
import { createPlaces } from './places.ts';
import type { EntryOptions } from './requests.ts';
import { waitRoute } from './wait.ts';

const WAITS_OF_USER = 20;
const WAITS_OF_PROCESS = 500;

export interface FollowRouteOptions extends EntryOptions, AuthOptions {
  wakeUps: WakeUps;
  /** Aborted when this process stops. */
  stopping: AbortSignal;
  maxStreamsPerUser: number;
  metrics: ApiMetrics;
  log: Log;
}

/** The routes that answer when something comes: they take longer than others, and each keeps a place. */
export function followRoutes(router: Router, options: FollowRouteOptions): void {
  const { db, metrics, maxStreamsPerUser } = options;
  const look = createLook(db);
  const waits = createPlaces({ name: 'waits', ofUser: WAITS_OF_USER, ofProcess: WAITS_OF_PROCESS });
  const streams = createPlaces({ name: 'event streams', ofUser: maxStreamsPerUser });
  metrics.onScrape(() => {
    metrics.followers.set({ kind: 'wait' }, waits.used());
    metrics.followers.set({ kind: 'stream' }, streams.used());
  });
  waitRoute(router, { ...options, look, waits });
  eventsRoute(router, {
    ...options,
    auth: options,
    look,
    streams,
    onEnd: (reason) => metrics.streamEnds.inc({ reason }),
  });
}

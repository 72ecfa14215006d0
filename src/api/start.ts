import type { Redis } from 'ioredis';
import type { Config, RedisConfig } from '../config.ts';
import type { Log } from '../log.ts';
import { createApiMetrics } from './metrics.ts';
import { listen } from '../ops/listen.ts';
import { startReadiness } from '../ops/readiness.ts';
import { enqueueCaptures, enqueueLargeCapture, openCaptureQueues, removeLargeBody } from '../queue/capture-queue.ts';
import { createInFlightWait } from '../queue/in-flight.ts';
import { openMaintenanceQueue, requestSweep } from '../queue/maintenance-queue.ts';
import { closeRedis, openRedis } from '../redis/connections.ts';
import { createEndpointCache } from '../redis/endpoint-cache.ts';
import { startMemoryWatch } from '../redis/memory-watch.ts';
import { createQuota } from '../redis/quota.ts';
import { startWakeUps, wakeFollowers, type WakeUps } from '../redis/wake-ups.ts';
import type { Resources } from '../resources.ts';
import { openDatabase } from '../store/database.ts';
import { findCaptureTargets } from '../store/endpoints.ts';
import { findUsage } from '../store/usage.ts';
import { createApp } from './app.ts';
import { createByteBudget } from './http/byte-budget.ts';
import { createEndpointLookUps, limitLookUps } from './capture/endpoint-look-ups.ts';
import { createInFlight } from './management/in-flight.ts';
import { createIntake, type IntakeOptions } from './capture/intake.ts';
import { openKeys } from './auth/keys.ts';
import { createRefusals } from './capture/refusals.ts';
import { startLive, type Live } from './live/server.ts';
import { createPlanMemory } from './auth/plan-memory.ts';
import { createHttpServer } from './http/server.ts';

const MANAGEMENT_BODY_BYTES = 64 * 1024 * 1024;

export interface RunningApi {
  port: number;
  internalPort: number;
}

/**
 * Opens all parts of an API process and listens. Closing `resources` drains it: it becomes not ready, answers open
 * requests, enqueues what the intake holds, and closes its connections.
 */
export async function startApi(config: Config, resources: Resources, log: Log): Promise<RunningApi> {
  const db = resources.add(openDatabase(config.mysql), (database) => database.close());
  const producer = resources.add(openRedis(config.redis, 'producer', log), closeRedis);
  const cacheRedis = resources.add(openRedis(config.redis, 'cache', log), closeRedis);
  const subscriber = resources.add(openRedis(config.redis, 'subscriber', log), closeRedis);
  const metrics = createApiMetrics();
  const maintenance = openMaintenanceQueue(producer, config.redis.prefix);

  const endpoints = resources.add(
    createEndpointCache({
      redis: cacheRedis,
      subscriber,
      prefix: config.redis.prefix,
      log,
      findInDatabase: createEndpointLookUps({
        poolSize: config.mysql.poolSize,
        findTargets: (keys) => findCaptureTargets(db.knex, keys),
      }),
    }),
    (cache) => cache.stop(),
  );
  // Separate limit, so that look-ups of unknown addresses do not delay the counts of known endpoints.
  const limitUsage = limitLookUps(config.mysql.poolSize);
  const quota = createQuota(cacheRedis, config.redis.prefix, (userId, day) =>
    limitUsage(() => findUsage(db.knex, userId, day)),
  );
  const memory = resources.add(
    startMemoryWatch({ redis: cacheRedis, refusePercent: config.redisMemoryRefusePercent, log }),
    (watch) => void watch.stop(),
  );
  const refuse = createRefusals(metrics.captureRefusals, log);
  const intake = resources.add(
    createIntake({ ...openQueues(config.redis, producer, resources, log), quota, metrics, refuse }),
    (open) => open.idle(),
  );

  const captureBodies = createByteBudget(config.intakeMaxBytes);
  const answers = createByteBudget(config.answerMaxBytes);
  metrics.measureConnections(() => db.connections());
  metrics.onScrape(() => {
    metrics.intakeBytes.set(captureBodies.used());
    metrics.answerBytes.set(answers.used());
    metrics.redisMemoryRatio.set(memory.ratio());
    metrics.redisMemoryRefusing.set(memory.refusing() ? 1 : 0);
  });

  const wakeUps = openWakeUps(config, resources, log);
  const stopping = new AbortController();
  const keys = resources.add(openKeys(config.jwt, log), (open) => open.close());
  const auth = { ...config, keySource: keys.find, rememberPlan: createPlanMemory({ db, endpoints, log }) };
  const app = createApp({
    ...auth,
    cacheRedis,
    redisPrefix: config.redis.prefix,
    db,
    endpoints,
    quota,
    intake,
    inFlight: createInFlight(createInFlightWait(openCaptureQueues(cacheRedis, config.redis.prefix)), log),
    captureBodies,
    managementBodies: createByteBudget(MANAGEMENT_BODY_BYTES),
    answers,
    refuse,
    metrics,
    memory,
    log,
    requestPurge: () => requestSweep(maintenance).catch(() => {}),
    wakeUps,
    stopping: stopping.signal,
    maxStreamsPerUser: config.live.maxSocketsPerUser,
    wakeFollowers: (endpointId) => wakeFollowers(cacheRedis, config.redis.prefix, endpointId).catch(() => {}),
  });

  const readiness = await startReadiness(config, resources, log, {
    db,
    redis: cacheRedis,
    pingRedis: () => Promise.all([producer.ping(), cacheRedis.ping()]),
    toleratesDeadDatabase: true,
    scrape: () => metrics.scrape(),
  });

  let live: Live | undefined;
  const http = createHttpServer(app, (req) => live?.acceptsUpgrade(req) === true);
  if (config.live.enabled) live = openLive();
  const port = await listen(http.server, config.host, config.port);
  resources.add(http, async (open) => {
    readiness.drain();
    stopping.abort();
    await open.drain(config.drainDelayMs, async () => live?.drain());
  });
  const { internalPort } = readiness;
  log.info({ port, internalPort, baseUrl: config.baseUrl }, 'API is listening');
  return { port, internalPort };

  function openLive(): Live {
    const publisher = resources.add(openRedis(config.redis, 'live', log), closeRedis);
    const events = resources.add(openRedis(config.redis, 'subscriber', log), closeRedis);
    const options = {
      ...config.live,
      http: http.server,
      db,
      publisher,
      subscriber: events,
      prefix: config.redis.prefix,
      auth,
      metrics,
      log,
    };
    return resources.add(startLive(options), (open) => open.close());
  }
}

/** Without live events workers publish nothing, so there is nothing to subscribe to. */
function openWakeUps({ redis, live }: Config, resources: Resources, log: Log): WakeUps {
  const subscriber = live.enabled ? resources.add(openRedis(redis, 'follower', log), closeRedis) : undefined;
  return resources.add(startWakeUps({ subscriber, prefix: redis.prefix, log }), (wakeUps) => wakeUps.stop());
}

/** The intake's queues; large captures have a connection of their own. */
function openQueues(
  config: RedisConfig,
  producer: Redis,
  resources: Resources,
  log: Log,
): Pick<IntakeOptions, 'enqueue' | 'discardLarge'> {
  const { prefix } = config;
  const bulk = resources.add(openRedis(config, 'bulk', log), closeRedis);
  const { capture: small } = openCaptureQueues(producer, prefix);
  const { 'capture-large': large } = openCaptureQueues(bulk, prefix);
  return {
    enqueue: {
      capture: (batch) => enqueueCaptures(small, batch),
      'capture-large': (batch) => enqueueLargeCapture(large, bulk, prefix, batch),
    },
    discardLarge: (batchId) => removeLargeBody(bulk, prefix, batchId),
  };
}

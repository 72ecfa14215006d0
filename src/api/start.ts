import type { Redis } from 'ioredis';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { createApiMetrics } from './metrics.ts';
import { listen } from '../ops/listen.ts';
import { startReadiness } from '../ops/readiness.ts';
import { openCaptureQueues } from '../queue/capture-queue.ts';
import { createInFlightWait } from '../queue/in-flight.ts';
import { openMaintenanceQueue, requestSweep } from '../queue/maintenance-queue.ts';
import { closeRedis, openRedis } from '../redis/connections.ts';
import { channelPrefix } from '../redis/keys.ts';
import { layoutProblem } from '../redis/shard-layout.ts';
import { openShards, shardOf, type Shard } from '../redis/shards.ts';
import { startWakeUps, wakeFollowers, type WakeUps } from '../redis/wake-ups.ts';
import type { Resources } from '../resources.ts';
import { openDatabase } from '../store/database.ts';
import { createApp } from './app.ts';
import { createDelays } from './capture/delays.ts';
import { createByteBudget } from './http/byte-budget.ts';
import { createHosts } from './http/capture-host.ts';
import { createExportSlots } from './management/export-slots.ts';
import { createInFlight } from './management/read-your-writes.ts';
import { createScanLimit } from './management/scans.ts';
import { openCapturePath } from './capture/open.ts';
import { openKeys } from './auth/keys.ts';
import { startLive, type Live } from './live/server.ts';
import { createPlanMemory } from './auth/save-plan.ts';
import { createShareLookUps } from './auth/share-look-ups.ts';
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
  const shards = openShards(config.redis, 'producer', resources, log);
  const [{ redis: producer }] = shards as [Shard];
  const cacheRedis = resources.add(openRedis(config.redis, 'cache', log), closeRedis);
  const metrics = createApiMetrics();
  const maintenance = openMaintenanceQueue(producer, config.redis.prefix);

  const capturePath = openCapturePath(config, resources, log, { db, shards, cacheRedis, metrics });
  const { endpoints, memory } = capturePath;
  const captureBodies = createByteBudget(config.intakeMaxBytes);
  const answers = createByteBudget(config.answerMaxBytes);
  const delays = createDelays();
  metrics.measureConnections(() => db.connections());
  metrics.onScrape(() => {
    metrics.intakeBytes.set(captureBodies.used());
    metrics.answerBytes.set(answers.used());
    metrics.delayedAnswers.set(delays.count());
    metrics.redisMemoryRatio.set(memory.ratio());
    metrics.redisMemoryRefusing.set(memory.refusing() ? 1 : 0);
  });

  const wakeUps = openWakeUps(config, resources, log);
  const stopping = new AbortController();
  const keys = resources.add(openKeys(config.jwt, log), (open) => open.close());
  const auth = {
    ...config,
    keySource: keys.find,
    rememberPlan: createPlanMemory({ db, endpoints, log }),
    shares: createShareLookUps({ db, poolSize: config.mysql.poolSize }),
  };
  const hosts = createHosts(config.captureBaseUrl);
  const exports = createExportSlots(cacheRedis, config.redis.prefix);
  const app = createApp({
    ...auth,
    hosts,
    delays,
    cacheRedis,
    redisPrefix: config.redis.prefix,
    db,
    ...capturePath,
    inFlight: createInFlight(inFlightOf(shards, cacheRedis), log),
    captureBodies,
    managementBodies: createByteBudget(MANAGEMENT_BODY_BYTES),
    answers,
    limitScan: createScanLimit({ redis: cacheRedis, prefix: config.redis.prefix, log }),
    exports,
    metrics,
    log,
    requestPurge: () => requestSweep(maintenance).catch(() => {}),
    wakeUps,
    stopping: stopping.signal,
    maxStreamsPerUser: config.live.maxSocketsPerUser,
    wakeFollowers: (endpointId) => wakeFollowers(cacheRedis, channelPrefix(config.redis), endpointId).catch(() => {}),
  });

  const readiness = await startReadiness(config, resources, log, {
    db,
    redis: cacheRedis,
    pingRedis: () => Promise.all([cacheRedis.ping(), ...shards.map(({ redis }) => redis.ping())]),
    layoutProblem: () => layoutProblem(shards),
    toleratesDeadDatabase: true,
    scrape: () => metrics.scrape(),
  });

  let live: Live | undefined;
  const http = createHttpServer(app, (req) => hosts.takeManagement(req) && live?.acceptsUpgrade(req) === true);
  if (config.live.enabled) live = openLive();
  const port = await listen(http.server, config.host, config.port);
  resources.add(http, async (open) => {
    readiness.drain();
    delays.stop();
    stopping.abort();
    exports.drain();
    await open.drain(config.drainDelayMs, async () => live?.drain());
  });
  const { internalPort } = readiness;
  log.info({ port, internalPort, baseUrl: config.baseUrl }, 'API is listening');
  return { port, internalPort };

  function openLive(): Live {
    const prefix = channelPrefix(config.redis);
    const publisher = resources.add(openRedis(config.redis, 'live', log, prefix), closeRedis);
    const events = resources.add(openRedis(config.redis, 'subscriber', log, prefix), closeRedis);
    const options = {
      ...config.live,
      http: http.server,
      db,
      publisher,
      subscriber: events,
      prefix,
      auth,
      metrics,
      log,
    };
    return resources.add(startLive(options), (open) => open.close());
  }
}

/** The wait of a user is for the batches of its shard. */
function inFlightOf(shards: Shard[], redis: Redis): (userId: string) => Promise<number> {
  const waits = shards.map(({ prefix }) => createInFlightWait(openCaptureQueues(redis, prefix)));
  return (userId) => (waits[shardOf(userId, shards.length)] as (typeof waits)[number])();
}

/** Without live events workers publish nothing, so there is nothing to subscribe to. */
function openWakeUps({ redis, live }: Config, resources: Resources, log: Log): WakeUps {
  const prefix = channelPrefix(redis);
  const subscriber = live.enabled ? resources.add(openRedis(redis, 'follower', log, prefix), closeRedis) : undefined;
  return resources.add(startWakeUps({ subscriber, prefix, log }), (wakeUps) => wakeUps.stop());
}

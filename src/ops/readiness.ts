import type { Redis } from 'ioredis';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { largestBody } from '../plans.ts';
import type { Resources } from '../resources.ts';
import type { Database } from '../store/database.ts';
import { createDurabilityCheck } from './durability.ts';
import { listen } from './listen.ts';
import { createOpsServer } from './server.ts';
import { startStartupCheck } from './startup-check.ts';

export interface Readiness {
  internalPort: number;
  /** Resolves when the process has become ready. */
  passed: Promise<void>;
  /** Makes the process not ready, because it stops. */
  drain(): void;
}

export interface ReadinessOptions {
  db: Database;
  redis: Redis;
  /** Sends Redis a command that this role needs. */
  pingRedis: () => Promise<unknown>;
  /** What of Redis' contents prevents readiness. */
  layoutProblem: () => Promise<string | undefined>;
  /** Whether this role can work without the database for a while. */
  toleratesDeadDatabase: boolean;
  /** The text of `/metrics`. */
  scrape: () => Promise<string>;
}

/** Checks what a process needs to become ready, and answers on the internal port. */
export async function startReadiness(
  config: Config,
  resources: Resources,
  log: Log,
  { db, redis, pingRedis, layoutProblem, toleratesDeadDatabase, scrape }: ReadinessOptions,
): Promise<Readiness> {
  const check = resources.add(
    startStartupCheck({
      db,
      pingRedis,
      layoutProblem,
      toleratesDeadDatabase,
      largestBody: largestBody(config.plans),
      unsafe: createDurabilityCheck({ redis, db, config: config.redis, mode: config.durability, log }),
      log,
    }),
    (running) => running.stop(),
  );
  let draining = false;
  const server = createOpsServer({ notReady: () => (draining ? ['stopping'] : check.missing()), scrape });
  const internalPort = await listen(server, config.host, config.internalPort);
  resources.add(server, (open) => void open.close());
  return {
    internalPort,
    passed: check.passed,
    drain() {
      draining = true;
    },
  };
}

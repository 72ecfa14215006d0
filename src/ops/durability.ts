import type { Redis } from 'ioredis';
import type { RowDataPacket } from 'mysql2/promise';
import type { RedisConfig } from '../config.ts';
import type { Log } from '../log.ts';
import { isForbidden, mastersOf } from '../redis/connections.ts';
import type { Database } from '../store/database.ts';
import { isUnavailable } from '../store/sql-errors.ts';

interface Requirement {
  name: string;
  must: string;
  lost: string;
}

const REDIS_REQUIRES: Requirement[] = [
  { name: 'appendonly', must: 'yes', lost: 'a restart of Redis loses every capture that is not in MySQL yet' },
  { name: 'appendfsync', must: 'always', lost: 'a power loss loses captures of the last seconds that had a receipt' },
  {
    name: 'no-appendfsync-on-rewrite',
    must: 'no',
    lost: 'a power loss while Redis rewrites its log loses captures that had a receipt',
  },
  {
    name: 'maxmemory-policy',
    must: 'noeviction',
    lost: 'Redis may evict captures that wait for MySQL',
  },
];

const MYSQL_FLUSH: Requirement = {
  name: 'innodb_flush_log_at_trx_commit',
  must: '1',
  lost: 'a crash loses rows of the last second, which have left the queue by then',
};
const MYSQL_BINLOG: Requirement = {
  name: 'sync_binlog',
  must: '1',
  lost: 'a crash rolls back transactions whose binary log was not on disk, and replicas diverge',
};

export interface DurabilityOptions {
  redis: Redis;
  db: Database;
  config: Pick<RedisConfig, 'sentinel' | 'waitReplicas'>;
  mode: 'warn' | 'strict';
  log: Log;
}

/**
 * Returns a function that checks whether the stores keep what they have acknowledged. It warns of each problem once,
 * and returns the problems that prevent readiness: none unless the mode is `strict`. An unreachable database is not a
 * problem here. It throws when Redis does not answer.
 */
export function createDurabilityCheck({ redis, db, config, mode, log }: DurabilityOptions): () => Promise<string[]> {
  const warned = new Set<string>();
  return async () => {
    const ofMasters = await Promise.all(mastersOf(redis).map((master) => redisProblems(master, config)));
    const problems = [...new Set(ofMasters.flat()), ...(await mysqlProblems(db))];
    for (const problem of problems.filter((text) => !warned.has(text))) {
      warned.add(problem);
      log.warn({ durability: mode }, problem);
    }
    return mode === 'strict' ? problems.map((problem) => `DURABILITY is strict: ${problem}`) : [];
  };
}

async function redisProblems(redis: Redis, config: DurabilityOptions['config']): Promise<string[]> {
  try {
    // One at a time: older servers accept one name only.
    const answers = await Promise.all(REDIS_REQUIRES.map(({ name }) => redis.config('GET', name)));
    const problems = REDIS_REQUIRES.flatMap((requirement, i) => problemOf('Redis', requirement, answers[i]?.[1]));
    return [...problems, ...(await failoverProblems(redis, config))];
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const names = REDIS_REQUIRES.map(({ name, must }) => `${name} ${must}`).join(', ');
    return [
      `the settings of Redis could not be checked, because CONFIG GET is forbidden: allow it (ACL +config|get), or check ${names}`,
    ];
  }
}

/** Replication is asynchronous: a replica that takes over lacks what only the last master had. */
async function failoverProblems(
  redis: Redis,
  { sentinel, waitReplicas }: DurabilityOptions['config'],
): Promise<string[]> {
  let info: string;
  try {
    info = await redis.info('replication');
  } catch (error) {
    if (!isForbidden(error)) throw error;
    if (waitReplicas > 0 || sentinel === undefined) return [];
    info = '';
  }
  const replicas = Number(/^connected_slaves:(\d+)/m.exec(info)?.[1] ?? 0);
  if (waitReplicas > replicas)
    return [
      `REDIS_WAIT_REPLICAS is ${waitReplicas} and Redis has ${replicas} replicas: until it has more, captures get 503`,
    ];
  if (waitReplicas > 0 || (replicas === 0 && sentinel === undefined)) return [];
  return [
    'Redis has replicas and REDIS_WAIT_REPLICAS must be 1 or more: otherwise a failover loses captures that had a receipt',
  ];
}

async function mysqlProblems(db: Database): Promise<string[]> {
  try {
    const [[row]] = await db.pool.query<(RowDataPacket & Record<string, number | null>)[]>(
      `SELECT @@${MYSQL_FLUSH.name} AS flush, @@log_bin AS log_bin, @@${MYSQL_BINLOG.name} AS binlog`,
    );
    const hasBinlog = Number(row?.['log_bin']) === 1;
    return [
      ...problemOf('MySQL', MYSQL_FLUSH, row?.['flush']),
      ...(hasBinlog ? problemOf('MySQL', MYSQL_BINLOG, row?.['binlog']) : []),
    ];
  } catch (error) {
    if (isUnavailable(error)) return [];
    return [
      `the settings of MySQL could not be checked (${(error as { code?: string }).code ?? 'unknown error'}): check ${MYSQL_FLUSH.name} ${MYSQL_FLUSH.must}`,
    ];
  }
}

function problemOf(
  store: string,
  { name, must, lost }: Requirement,
  value: string | number | null | undefined,
): string[] {
  if (value === undefined || value === null)
    return [`${store} does not report its ${name}: check that it is ${must}, otherwise ${lost}`];
  return String(value) === must ? [] : [`${name} of ${store} is ${value} and must be ${must}: otherwise ${lost}`];
}

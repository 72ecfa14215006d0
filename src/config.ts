import { z } from 'zod';
import { MisconfigurationError } from './user-error.ts';
import { parsePlans, type Plans } from './plans.ts';
import {
  baseUrl,
  boolean,
  integer,
  JWKS_URL,
  JWT_PUBLIC_KEY,
  JWT_SECRET,
  MYSQL_URL,
  oneOf,
  text,
  type Get,
  type MysqlAddress,
} from './environment.ts';
import { readRedis, redisProblems, type RedisConfig } from './redis-config.ts';

export type { RedisConfig } from './redis-config.ts';

export const ROLES = ['api', 'worker', 'migrate', 'token', 'dead-letters', 'shards', 'healthcheck', 'local'] as const;
export type Role = (typeof ROLES)[number];

export interface MysqlConfig extends MysqlAddress {
  tls: boolean;
  poolSize: number;
}

/** How tokens are verified: by exactly one of the three keys; other roles need none. */
export interface JwtConfig {
  /** HS256 key, at least 32 bytes. */
  secret: string;
  publicKey: string;
  jwksUrl: string;
  issuer: string;
  audience: string;
  planClaim: string;
}

export interface LiveConfig {
  enabled: boolean;
  maxSocketsPerUser: number;
  /** Bytes that may wait for a socket's client to read them. */
  maxBufferedBytes: number;
}

export interface Config {
  host: string;
  port: number;
  internalPort: number;
  /** Public address without a trailing slash; endpoint URLs are built from it, never from Host. */
  baseUrl: string;
  /** The same of captures, where they have a host of their own: it answers `/h`, and nothing else does. */
  captureBaseUrl: string | undefined;
  /** Which custom responses are sent; `safe` = all but redirects. */
  customResponses: 'off' | 'safe' | 'redirects';
  mysql: MysqlConfig;
  redis: RedisConfig;
  jwt: JwtConfig;
  logLevel: string;
  /** Unsafe settings of Redis and MySQL: `warn` logs them, `strict` also keeps a process from becoming ready. */
  durability: 'warn' | 'strict';
  /** Share of Redis' `maxmemory`, in percent, above which captures are refused. */
  redisMemoryRefusePercent: number;
  plans: Plans;
  defaultPlan: string;
  trustProxyHops: number;
  /** Management requests of one user, and signature checks of one address, a minute; 0 = no limit. */
  apiRateLimitPerMinute: number;
  verifyRateLimitPerMinute: number;
  /** Bytes of request bodies that one API process holds in memory at most. */
  intakeMaxBytes: number;
  /** Bytes of entries that one API process holds in memory at most, until their readers have them. */
  answerMaxBytes: number;
  /** Time between "not ready" and closing the listener, so that load balancers notice. */
  drainDelayMs: number;
  /** Time for a stopping process to finish its work before it exits anyway. */
  shutdownTimeoutMs: number;
  live: LiveConfig;
  /** Whether `GET /` is the inspector page. */
  page: boolean;
  workerConcurrency: number;
  /** Another worker takes a dead worker's jobs after about this time. */
  jobLockMs: number;
  migrateWaitMs: number;
  /** How long an expired endpoint stays readable for its owner before it is removed. */
  expiredGraceHours: number;
  dataDir: string;
  /** Whether the user provides MySQL and Redis (otherwise `npm start` runs private ones). */
  external: { mysql: boolean; redis: boolean };
}

type Env = Record<string, string | undefined>;

/** @throws MisconfigurationError that names each refused variable and its valid values */
export function readConfig(env: Env, role: Role): Config {
  const problems: string[] = [];
  const get: Get = (setting, fallback) => {
    const value = env[setting.name];
    if (value === undefined || value === '') return fallback;
    try {
      return setting.parse(value);
    } catch (error) {
      const why = error instanceof z.ZodError ? '' : `: ${(error as Error).message}`;
      const quoted = setting.secret ? '' : ` (it is ${JSON.stringify(value.slice(0, 200))})`;
      problems.push(`${setting.name} must be ${setting.expects}${quoted}${why}`);
      return fallback;
    }
  };

  const port = get(integer('PORT', 0, 65_535), 8080);
  const plans = get({ name: 'PLANS', expects: 'a JSON object of plans', parse: parsePlans }, parsePlans(undefined));
  const defaultPlan = get(oneOf('DEFAULT_PLAN', [...plans.keys()]), 'free');

  const config: Config = {
    host: get(text('HOST', 'an address to listen on'), '0.0.0.0'),
    port,
    internalPort: get(integer('INTERNAL_PORT', 0, 65_535), 9090),
    baseUrl: get(baseUrl('BASE_URL'), `http://localhost:${port}`),
    captureBaseUrl: get<string | undefined>(baseUrl('CAPTURE_BASE_URL'), undefined),
    customResponses: get(oneOf('CUSTOM_RESPONSES', ['off', 'safe', 'redirects']), 'safe'),
    mysql: readMysql(get),
    redis: readRedis(get),
    jwt: readJwt(get),
    logLevel: get(oneOf('LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']), 'info'),
    durability: get(oneOf('DURABILITY', ['warn', 'strict']), 'warn'),
    redisMemoryRefusePercent: get(integer('REDIS_MEMORY_REFUSE_PERCENT', 30, 100), 80),
    plans,
    defaultPlan,
    trustProxyHops: get(integer('TRUST_PROXY_HOPS', 0, 20), 0),
    apiRateLimitPerMinute: get(integer('API_RATE_LIMIT_PER_MINUTE', 0, 1_000_000_000), 6_000),
    verifyRateLimitPerMinute: get(integer('VERIFY_RATE_LIMIT_PER_MINUTE', 0, 1_000_000_000), 600),
    intakeMaxBytes: get(integer('INTAKE_MAX_BYTES', 1024 * 1024, 2 ** 40), 256 * 1024 * 1024),
    answerMaxBytes: get(integer('ANSWER_MAX_BYTES', 1024 * 1024, 2 ** 40), 128 * 1024 * 1024),
    drainDelayMs: get(integer('DRAIN_DELAY_MS', 0, 600_000), 0),
    shutdownTimeoutMs: get(integer('SHUTDOWN_TIMEOUT_MS', 1, 600_000), 25_000),
    live: {
      enabled: get(boolean('LIVE_EVENTS'), true),
      maxSocketsPerUser: get(integer('LIVE_MAX_SOCKETS_PER_USER', 1, 1_000_000), 100),
      maxBufferedBytes: get(integer('LIVE_MAX_BUFFERED_BYTES', 1024 * 1024, 2 ** 30), 8 * 1024 * 1024),
    },
    page: get(boolean('PAGE'), true),
    workerConcurrency: get(integer('WORKER_CONCURRENCY', 1, 1000), 64),
    jobLockMs: get(integer('JOB_LOCK_MS', 1000, 600_000), 30_000),
    migrateWaitMs: 1_000 * get(integer('MIGRATE_WAIT_SECONDS', 0, 600), 0),
    expiredGraceHours: get(integer('EXPIRED_GRACE_HOURS', 0, 8_760), 24),
    dataDir: get(text('DATA_DIR', 'a folder'), '.hookbay'),
    external: {
      mysql: Boolean(env['MYSQL_URL'] || env['MYSQL_HOST']),
      redis: Boolean(env['REDIS_URL'] || env['REDIS_HOST']),
    },
  };

  if (!plans.has(defaultPlan) && !env['DEFAULT_PLAN'])
    problems.push(`DEFAULT_PLAN must be one of ${[...plans.keys()].join(', ')}`);
  // Browsers share cookies between the ports of a host.
  if (config.captureBaseUrl && new URL(config.captureBaseUrl).hostname === new URL(config.baseUrl).hostname)
    problems.push('CAPTURE_BASE_URL must have another host name than BASE_URL');
  problems.push(...redisProblems(env, config.redis, role === 'local'), ...keyProblems(env, role));
  if (problems.length > 0) throw new MisconfigurationError(`Hookbay cannot start:\n${problems.join('\n')}`);
  return config;
}

function readMysql(get: Get): MysqlConfig {
  const url = get(MYSQL_URL, undefined);
  return {
    host: url?.host ?? get(text('MYSQL_HOST', 'a host name'), '127.0.0.1'),
    port: url?.port ?? get(integer('MYSQL_PORT', 1, 65_535), 3306),
    user: url?.user ?? get(text('MYSQL_USER', 'a user name'), 'hookbay'),
    password: url?.password ?? get(text('MYSQL_PASSWORD', 'a password'), ''),
    database: url?.database ?? get(text('MYSQL_DATABASE', 'a database name'), 'hookbay'),
    tls: get(boolean('MYSQL_TLS'), false),
    poolSize: get(integer('MYSQL_POOL_SIZE', 2, 1000), 10),
  };
}

function readJwt(get: Get): JwtConfig {
  return {
    secret: get(JWT_SECRET, ''),
    publicKey: get(JWT_PUBLIC_KEY, ''),
    jwksUrl: get(JWKS_URL, ''),
    issuer: get(text('JWT_ISSUER', 'the iss claim of your tokens'), ''),
    audience: get(text('JWT_AUDIENCE', 'an aud claim of your tokens'), ''),
    planClaim: get(text('JWT_PLAN_CLAIM', 'the name of a claim'), 'plan'),
  };
}

/** The role "token" signs with the secret; the API verifies with exactly one key, so that it is clear which. */
function keyProblems(env: Env, role: Role): string[] {
  const set = ['JWT_SECRET', 'JWT_PUBLIC_KEY', 'JWKS_URL'].filter(
    (name) => env[name] !== undefined && env[name] !== '',
  );
  if (role === 'token' && !set.includes('JWT_SECRET'))
    return [`JWT_SECRET must be ${JWT_SECRET.expects}; it is not set (try: openssl rand -base64 48)`];
  if (role !== 'api' || set.length === 1) return [];
  if (set.length > 1)
    return [`JWT_SECRET, JWT_PUBLIC_KEY and JWKS_URL exclude each other; ${set.join(' and ')} are set`];
  return [
    `JWT_SECRET must be ${JWT_SECRET.expects}; it is not set (try: openssl rand -base64 48), and neither is JWT_PUBLIC_KEY or JWKS_URL`,
  ];
}

import type { RedisConfig } from '../config.ts';

/** Keys with a hash tag (`{prefix}`) are in one Redis Cluster slot, because one script uses several of them. */
export interface RedisKeys {
  endpoint: (id: string) => string;
  alias: (alias: string) => string;
  plan: (userId: string) => string;
  /** Exists while a plan is being changed: `plan` must not be filled meanwhile. It is in the slot of `plan`. */
  planChange: (userId: string) => string;
  /** Channel for changes of the four above. */
  announcements: string;
  quotaPending: string;
  quotaSince: string;
  quotaOfUser: (userId: string) => string;
  queues: string;
  largeBody: (batchId: string) => string;
  rateLimit: (policy: string) => string;
  live: string;
  /** Sharded channel for new captures of an endpoint, and for its end; see `wake-ups.ts`. */
  stored: (endpointId: string) => string;
  ballast: string;
  metricsLease: string;
  scanLease: (userId: string) => string;
  exportLease: (userId: string) => string;
  /** Where the last sweep stopped, of endpoints and of users. */
  sweepCursor: string;
  planSweepCursor: string;
}

export function redisKeys(prefix: string): RedisKeys {
  const tagged = `{${prefix}}`;
  const plan = (userId: string): string => `${prefix}:plan:${withoutBraces(userId)}`;
  return {
    endpoint: (id) => `${prefix}:endpoint:${id}`,
    alias: (alias) => `${prefix}:alias:${alias}`,
    plan,
    planChange: (userId) => `${prefix}:plan-change:{${plan(userId)}}`,
    announcements: `${prefix}:invalidate`,
    quotaPending: `${tagged}:quota:pending`,
    quotaSince: `${tagged}:quota:since`,
    quotaOfUser: (userId) => `${tagged}:quota:user:${userId}`,
    queues: tagged,
    largeBody: (batchId) => `${tagged}:capture-large:body:${batchId}`,
    rateLimit: (policy) => `${prefix}:limit:${policy}`,
    live: `${prefix}:live`,
    stored: (endpointId) => `${prefix}:stored:${endpointId}`,
    ballast: `${prefix}:ballast`,
    metricsLease: `${prefix}:metrics-lease`,
    scanLease: (userId) => `${prefix}:scan:${userId}`,
    exportLease: (userId) => `${prefix}:export-lease:${userId}`,
    sweepCursor: `${prefix}:sweep:cursor`,
    planSweepCursor: `${prefix}:sweep:plans`,
  };
}

/**
 * The prefix of sharded channels: in a Redis Cluster all are in one slot, so a process needs one connection for them,
 * and notices whenever messages may be lost.
 */
export function channelPrefix({ prefix, cluster }: Pick<RedisConfig, 'prefix' | 'cluster'>): string {
  return cluster.length > 0 ? `{${prefix}}` : prefix;
}

/** A brace would begin or end the hash tag. */
function withoutBraces(userId: string): string {
  return userId.replaceAll(/[%{}]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
}

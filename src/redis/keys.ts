/** Keys with a hash tag (`{prefix}`) are in one Redis Cluster slot, because one script uses several of them. */
export interface RedisKeys {
  endpoint: (id: string) => string;
  alias: (alias: string) => string;
  plan: (userId: string) => string;
  /** Exists while a plan is being changed: `plan` must not be filled meanwhile. */
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
  /** Where the last sweep stopped, of endpoints and of users. */
  sweepCursor: string;
  planSweepCursor: string;
}

export function redisKeys(prefix: string): RedisKeys {
  const tagged = `{${prefix}}`;
  return {
    endpoint: (id) => `${prefix}:endpoint:${id}`,
    alias: (alias) => `${prefix}:alias:${alias}`,
    plan: (userId) => `${prefix}:plan:${userId}`,
    planChange: (userId) => `${prefix}:plan-change:${userId}`,
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
    sweepCursor: `${prefix}:sweep:cursor`,
    planSweepCursor: `${prefix}:sweep:plans`,
  };
}

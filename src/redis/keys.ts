/**
 * Every key and channel of an installation: all begin with its prefix, so that several can share one Redis.
 * Those with a hash tag (`{prefix}`) lie in one Redis Cluster slot, because one script touches several of them.
 */
export interface RedisKeys {
  endpoint: (id: string) => string;
  alias: (alias: string) => string;
  plan: (userId: string) => string;
  /** There while a plan is being changed: `plan` is not to be filled up then. */
  planChange: (userId: string) => string;
  /** Channel on which changes of the four above are announced. */
  announcements: string;
  quotaPending: string;
  quotaSince: string;
  quotaOfUser: (userId: string) => string;
  /** What BullMQ's keys begin with. */
  queues: string;
  /** The body of a large capture, by its batch. */
  largeBody: (batchId: string) => string;
  /** What the keys of a rate limit begin with. */
  rateLimit: (policy: string) => string;
  /** What the channels of live events begin with. */
  live: string;
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
    ballast: `${prefix}:ballast`,
    metricsLease: `${prefix}:metrics-lease`,
    sweepCursor: `${prefix}:sweep:cursor`,
    planSweepCursor: `${prefix}:sweep:plans`,
  };
}

import type { Redis } from 'ioredis';

/* The scripts of the daily count, each atomic; `quota.ts` calls them. */

/** Long enough for every batch of a day to be stored or reconciled. */
const KEEP_SECONDS = 172_800;

/** Days before today whose counts are kept, for the same reason. */
const KEEP_DAYS = 2;

/** Every capture renews the expiry, so it only removes the counts of idle users. */
const DROP_OLD_DAYS = `
local function dropOldDays(key, today)
  for _, day in ipairs(redis.call('HKEYS', key)) do
    if tonumber(day) < today - ${KEEP_DAYS} then redis.call('HDEL', key, day) end
  end
end`;

/**
 * Counts are in one hash a user (field = day). A day without a field has count 0, but only where this Redis has existed
 * since before that day: a Redis that started empty requests the count first (-1). The reservation is noted under the
 * batch's id, so that one that is never settled can be refunded.
 *
 * With a day, the batch's job follows in the same transaction: everything is granted, or nothing is reserved. Then, and
 * after an error, the job's key is taken for a moment, because BullMQ adds no job whose key exists
 * (https://docs.bullmq.io/guide/jobs/job-ids).
 *
 * KEYS: pending, since, the job, one hash a user. ARGV: batch id, users (JSON), ids to settle (JSON), the day of the
 * job or -1, the number of shards (see `shard-layout.ts`), then count and cap a user.
 * Returns: seconds, microseconds, 1 where it reserved (otherwise 0), then granted and used a user.
 */
const RESERVE = `${DROP_OLD_DAYS}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local today = math.floor(time[1] / 86400)
local jobDay = tonumber(ARGV[4])

local function countsOfToday()
  local record = redis.call('GET', KEYS[2])
  if not record then
    record = tostring(now)
    if ARGV[5] ~= '1' then record = record .. ' ' .. ARGV[5] end
    redis.call('SET', KEYS[2], record)
  end
  local since, shards = string.match(record, '^(%d+) ?(-?%d*)$')
  if shards == '' then shards = '1' end
  if shards ~= ARGV[5] then error({ err = 'SHARDS the number of shards is ' .. shards .. ' here' }) end
  local counts = {}
  local missing = false
  for i = 4, #KEYS do
    local used = redis.call('HGET', KEYS[i], today)
    if not used and tonumber(since) >= today * 86400000 then
      used = -1
      missing = true
    end
    counts[i - 3] = tonumber(used or 0)
  end
  return counts, missing
end

local function grantsFor(counts)
  local grants = {}
  local all = true
  for i, used in ipairs(counts) do
    local count = tonumber(ARGV[2 * i + 4])
    local cap = tonumber(ARGV[2 * i + 5])
    grants[i] = cap < 0 and count or math.max(0, math.min(count, cap - used))
    if grants[i] < count then all = false end
  end
  return grants, all
end

local function count(counts, grants)
  for i, granted in ipairs(grants) do
    if granted > 0 then
      local key = KEYS[i + 3]
      if counts[i] == 0 then dropOldDays(key, today) end
      redis.call('HINCRBY', key, today, granted)
      redis.call('EXPIRE', key, ${KEEP_SECONDS})
    end
  end
  redis.call('HSET', KEYS[1], ARGV[1], cjson.encode({ at = now, day = today, users = cjson.decode(ARGV[2]), grants = grants }))
end

local function reserve()
  local settled = cjson.decode(ARGV[3])
  if #settled > 0 then redis.call('HDEL', KEYS[1], unpack(settled)) end
  local counts, missing = countsOfToday()
  local grants, all = grantsFor(counts)
  local reserved = not missing and (jobDay == -1 or (all and jobDay == today))
  if reserved then count(counts, grants) end
  local reply = { time[1], time[2], reserved and 1 or 0 }
  for i, used in ipairs(counts) do
    local granted = reserved and grants[i] or 0
    reply[2 * i + 2] = granted
    reply[2 * i + 3] = used + granted
  end
  return reply, reserved
end

local ok, reply, reserved = pcall(reserve)
if not reserved and jobDay ~= -1 then
  redis.call('HSET', KEYS[3], 'refused', 1)
  redis.call('EXPIRE', KEYS[3], 10)
end
if ok then return reply end
return redis.error_reply(type(reply) == 'table' and reply.err or tostring(reply))`;

/** Stores the count of a day unless there is one. KEYS: the user's hash. ARGV: day, count. */
const SEED = `${DROP_OLD_DAYS}
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 1 then
  dropOldDays(KEYS[1], math.floor(redis.call('TIME')[1] / 86400))
end
redis.call('EXPIRE', KEYS[1], ${KEEP_SECONDS})`;

/**
 * Does not create the count of a day, because it would never expire. KEYS: pending, one hash a user. ARGV: batch id,
 * day, then a grant a user. Returns whether there was a note.
 */
const REFUND = `
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
for i = 2, #KEYS do
  local granted = tonumber(ARGV[i + 1])
  if granted > 0 and redis.call('HEXISTS', KEYS[i], ARGV[2]) == 1 then
    redis.call('HINCRBY', KEYS[i], ARGV[2], -granted)
  end
end
return 1`;

export const RESERVE_COMMAND = 'hookbayReserve';

interface Scripts {
  [RESERVE_COMMAND](...keysAndArguments: (string | number)[]): Promise<(number | string)[]>;
  hookbaySeed(keyCount: number, ...keysAndArguments: (string | number)[]): Promise<null>;
  hookbayRefund(keyCount: number, ...keysAndArguments: (string | number)[]): Promise<number>;
}

/** ioredis sends a script's hash, and the whole script where Redis does not know it. */
export function withScripts(redis: Redis): Scripts {
  const scripts = redis as unknown as Partial<Scripts>;
  if (scripts[RESERVE_COMMAND] === undefined) redis.defineCommand(RESERVE_COMMAND, { lua: RESERVE });
  if (scripts.hookbaySeed === undefined) redis.defineCommand('hookbaySeed', { lua: SEED });
  if (scripts.hookbayRefund === undefined) redis.defineCommand('hookbayRefund', { lua: REFUND });
  return scripts as Scripts;
}

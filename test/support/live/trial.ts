import { bytesToId, idToBytes } from '../../../src/domain/ids.ts';
import { startLoad } from '../accounting.ts';
import { startFollower, type Follower } from './follower.ts';
import { client, mintToken } from '../client.ts';
import { eventually } from '../environment.ts';
import type { Fleet } from '../fleet.ts';
import { percentile } from '../statistics.ts';

export interface TrialOptions {
  sockets: number;
  users: number;
  /** Number of receipts to wait for. */
  captures: number;
  /** Faults of the fleet, one after another, spread over the captures. */
  faults: ((fleet: Fleet) => Promise<void>)[];
  /** Connections of the senders, and the pause of each after a receipt, in milliseconds. */
  connections?: number;
  pauseMs?: number;
}

export interface TrialResult {
  receipts: number;
  rows: number;
  /** Receipts without a row; always 0. */
  lost: number;
  /** Rows that a socket of their owner did not receive, over all sockets. */
  missing: number;
  /** Events for a socket of another user. */
  foreign: number;
  /** Pairs of a socket and a row of its own that it received. */
  received: number;
  reconnects: number;
  /** Milliseconds from the arrival of a capture to its live event. */
  latency: { p50: number; p99: number; count: number };
  captureP99: number;
}

const ENDPOINTS_OF_USER = 2;

/**
 * Sockets of several users on all pods follow their endpoints during captures and faults; afterwards the events of each
 * socket are compared with the rows.
 */
export async function runTrial(fleet: Fleet, options: TrialOptions): Promise<TrialResult> {
  const { sockets, users, captures, faults, connections = 16, pauseMs = 0 } = options;
  const audience = await Promise.all(
    Array.from({ length: users }, async (_, i) => {
      const token = mintToken(`user-${i}-${captures}`, { plan: 'enterprise' });
      const created = await Promise.all(
        Array.from({ length: ENDPOINTS_OF_USER }, () => client(fleet.url, token).create()),
      );
      return { token, endpointIds: created.map(({ body }) => body.id) };
    }),
  );
  const endpointIds = audience.flatMap((user) => user.endpointIds);
  const followers = Array.from({ length: sockets }, (_, i) => {
    const { token, endpointIds: own } = audience[i % users] as (typeof audience)[number];
    return { own, follower: startFollower(fleet.url, token, own) };
  });
  await eventually(() => followers.every(({ follower }) => follower.isConnected()));

  const load = startLoad({
    url: () => `${fleet.url}/h/${endpointIds[Math.floor(Math.random() * endpointIds.length)]}`,
    connections,
    pauseMs,
  });
  const receiptsSoFar = (): number => load.outcomes.filter(({ kind }) => kind === 'receipt').length;
  for (const [i, fault] of faults.entries()) {
    await eventually(() => receiptsSoFar() >= (captures * (i + 1)) / (faults.length + 2), 300_000);
    await fault(fleet);
  }
  await eventually(() => receiptsSoFar() >= captures, 300_000);
  await load.stop();
  await fleet.environment.drained();

  const rows = await fleet.environment.db
    .knex('requests')
    .whereIn('endpoint_id', endpointIds.map(idToBytes))
    .select<{ id: Buffer; endpoint_id: Buffer; seq: number }[]>('id', 'endpoint_id', 'seq');
  const seqs = new Map(endpointIds.map((id) => [id, [] as number[]]));
  for (const row of rows) seqs.get(bytesToId(row.endpoint_id))?.push(row.seq);
  const missingOf = ({ follower, own }: { follower: Follower; own: string[] }): number =>
    own.reduce(
      (sum, id) => sum + (seqs.get(id) ?? []).filter((seq) => follower.seen.get(id)?.has(seq) !== true).length,
      0,
    );
  const missing = (): number => followers.reduce((sum, one) => sum + missingOf(one), 0);
  // An event that is still missing after this time will not come, and counts as missing.
  await eventually(() => missing() === 0, 60_000).catch(() => {});

  const stored = new Set(rows.map(({ id }) => bytesToId(id)));
  const receipts = load.outcomes.filter(({ kind }) => kind === 'receipt');
  const latencies = followers.flatMap(({ follower }) => follower.latencies);
  const result: TrialResult = {
    receipts: receipts.length,
    rows: rows.length,
    lost: receipts.filter(({ id }) => !stored.has(id ?? '')).length,
    missing: missing(),
    foreign: followers.reduce(
      (sum, { follower, own }) =>
        sum +
        follower.foreign.length +
        own.reduce(
          (extra, id) =>
            extra + [...(follower.seen.get(id) ?? [])].filter((seq) => seq > (seqs.get(id)?.length ?? 0)).length,
          0,
        ),
      0,
    ),
    received: followers.reduce(
      (sum, { follower }) => sum + [...follower.seen.values()].reduce((n, set) => n + set.size, 0),
      0,
    ),
    reconnects: followers.reduce((sum, { follower }) => sum + follower.connects - 1, 0),
    latency: { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99), count: latencies.length },
    captureP99: percentile(
      receipts.map(({ ms }) => ms),
      0.99,
    ),
  };
  for (const { follower } of followers) follower.close();
  return result;
}

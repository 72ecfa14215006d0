import { Redis, type RedisOptions } from 'ioredis';
import type { RedisConfig } from '../config.ts';
import type { ServerAddress } from '../environment.ts';
import { connectorTo, TlsConnector } from './connectors.ts';

const ASK_MS = 1_000;

/** Slots from the first to the second belong to the nodes that follow, the master first: address, port, … */
type SlotRange = [number, number, ...[string, number, ...unknown[]][]];

/** Nodes that were seen last, by cluster: its first nodes may be replaced while this process runs. */
const seen = new WeakMap<RedisConfig, ServerAddress[]>();

/**
 * Connects to the master that has a slot of a Redis Cluster. So a connection for the keys of one hash tag behaves like
 * one to a single Redis, with the same time-outs; after a failover it finds the next master when it connects again.
 */
export function slotConnector(config: RedisConfig, slot: number) {
  return connectorTo(() => findMaster(config, slot), config.tls);
}

/** Asks nodes in random order, because one that is cut off from the others may have an outdated answer. */
async function findMaster(config: RedisConfig, slot: number): Promise<ServerAddress> {
  const known = [...(seen.get(config) ?? []), ...config.cluster].map((node) => ({ node, order: Math.random() }));
  let failure: unknown = new Error('no node of the Redis Cluster has this slot');
  for (const { node } of known.toSorted((a, b) => a.order - b.order)) {
    try {
      const ranges = await askForSlots(config, node);
      const nodes = ranges.flatMap(([, , ...servers]) =>
        servers.map(([host, port]) => ({ host: host || node.host, port })),
      );
      seen.set(config, [...new Map(nodes.map((server) => [`${server.host}:${server.port}`, server])).values()]);
      const master = ranges.find(([from, to]) => from <= slot && slot <= to)?.[2];
      if (master !== undefined) return { host: master[0] || node.host, port: master[1] };
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function askForSlots(config: RedisConfig, { host, port }: ServerAddress): Promise<SlotRange[]> {
  const redis = new Redis({
    host,
    port,
    ...(config.username !== undefined && { username: config.username }),
    ...(config.password !== undefined && { password: config.password }),
    ...(config.tls && { tls: {}, Connector: TlsConnector as NonNullable<RedisOptions['Connector']> }),
    connectionName: 'hookbay-slots',
    connectTimeout: ASK_MS,
    commandTimeout: ASK_MS,
    retryStrategy: () => null,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
  });
  let failure: Error | undefined;
  redis.on('error', (error: Error) => (failure = error));
  try {
    return await redis.cluster('SLOTS');
  } catch (error) {
    throw failure ?? error;
  } finally {
    redis.disconnect();
  }
}

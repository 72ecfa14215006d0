import { isIP } from 'node:net';
import type { RedisOptions } from 'ioredis';
import type { RedisConfig } from '../config.ts';

/** Node throws where an IP address is given as a server name. */
export function tlsOptions({ tls, host }: Pick<RedisConfig, 'tls' | 'host'>): Pick<RedisOptions, 'tls'> {
  return tls ? { tls: isIP(host) === 0 ? { servername: host } : {} } : {};
}

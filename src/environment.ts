import { createPublicKey } from 'node:crypto';
import { z } from 'zod';

/** One environment variable: its valid values, and how it is parsed. */
export interface Setting<T> {
  name: string;
  /** Completes the sentence "<NAME> must be …". */
  expects: string;
  parse: (value: string) => T;
  secret?: boolean;
}

/** Reads a setting; for an invalid one it records the problem and returns the fallback. */
export type Get = <T>(setting: Setting<T>, fallback: T) => T;

export function baseUrl(name: string): Setting<string> {
  return {
    name,
    expects: 'an http:// or https:// address without query or fragment',
    parse: (value) => {
      const url = new URL(value);
      if (!/^https?:$/.test(url.protocol) || url.search || url.hash || url.username)
        throw new Error('not such an address');
      return value.replace(/\/+$/, '');
    },
  };
}

export const JWT_SECRET: Setting<string> = {
  name: 'JWT_SECRET',
  expects: 'a secret of at least 32 bytes (RFC 7518, section 3.2)',
  secret: true,
  parse: (value) => {
    if (Buffer.byteLength(value) < 32) throw new Error(`it has ${Buffer.byteLength(value)}`);
    return value;
  },
};

export const JWT_PUBLIC_KEY: Setting<string> = {
  name: 'JWT_PUBLIC_KEY',
  expects: 'an RSA or EC public key in PEM (line breaks may be written as \\n)',
  secret: true,
  parse: (value) => {
    const pem = value.replaceAll('\\n', '\n');
    if (!pem.includes('PUBLIC KEY') && !pem.includes('CERTIFICATE')) throw new Error('it is not a public key');
    const type = createPublicKey(pem).asymmetricKeyType ?? 'unknown';
    if (!['rsa', 'rsa-pss', 'ec'].includes(type)) throw new Error(`keys of the kind ${type} are not supported`);
    return pem;
  },
};

export const JWKS_URL: Setting<string> = {
  name: 'JWKS_URL',
  expects: 'the http:// or https:// address of a JSON Web Key Set, without a user name or password',
  secret: true,
  parse: (value) => {
    const { protocol, username, password } = new URL(value);
    if (!/^https?:$/.test(protocol)) throw new Error('it is not such an address');
    if (username + password !== '') throw new Error('it has them');
    return value;
  },
};

export const REDIS_PREFIX: Setting<string> = {
  name: 'REDIS_PREFIX',
  expects: '1 to 64 letters, digits, - or _',
  parse: (value) =>
    z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/)
      .parse(value),
};

export interface MysqlAddress {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
}

export const MYSQL_URL: Setting<MysqlAddress | undefined> = {
  name: 'MYSQL_URL',
  expects: 'mysql://user:password@host:port/database (special characters percent-encoded)',
  secret: true,
  parse: (value) => {
    const url = parseUrl(value, ['mysql:', 'mariadb:']);
    const database = decodeURIComponent(url.pathname.slice(1));
    if (database === '') throw new Error('the database name is missing');
    // Other clients read it as a requirement, so it must not be ignored.
    const tls = [...url.searchParams.keys()].find((name) => /ssl|tls/i.test(name));
    if (tls !== undefined) throw new Error(`${tls} is not read here; set MYSQL_TLS=true`);
    return {
      host: hostOf(url),
      port: url.port === '' ? 3306 : Number(url.port),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      database,
    };
  },
};

export interface RedisAddress {
  host: string;
  port: number;
  username: string | undefined;
  password: string | undefined;
  db: number;
  tls: boolean;
}

export const REDIS_URL: Setting<RedisAddress | undefined> = {
  name: 'REDIS_URL',
  expects: 'redis://user:password@host:port/db, or rediss:// for TLS (special characters percent-encoded)',
  secret: true,
  parse: (value) => {
    const url = parseUrl(value, ['redis:', 'rediss:', 'valkey:', 'valkeys:']);
    return {
      host: hostOf(url),
      port: url.port === '' ? 6379 : Number(url.port),
      username: decodeURIComponent(url.username) || undefined,
      password: decodeURIComponent(url.password) || undefined,
      db: z.coerce.number().int().min(0).parse(url.pathname.slice(1)),
      tls: url.protocol === 'rediss:' || url.protocol === 'valkeys:',
    };
  },
};

export interface ServerAddress {
  host: string;
  port: number;
}

export function serverList(name: string, defaultPort: number): Setting<readonly ServerAddress[]> {
  return {
    name,
    expects: 'host:port,host:port,…',
    parse: (value) =>
      value.split(',').map((server) => {
        const url = new URL(`redis://${server.trim()}`);
        if (
          url.hostname === '' ||
          url.username + url.password + url.search + url.hash !== '' ||
          url.pathname.length > 1
        )
          throw new Error('a server is not host:port');
        return { host: hostOf(url), port: url.port === '' ? defaultPort : Number(url.port) };
      }),
  };
}

function parseUrl(value: string, protocols: string[]): URL {
  if (!URL.canParse(value)) throw new Error('it is not a URL');
  const url = new URL(value);
  if (!protocols.includes(url.protocol)) throw new Error(`it starts with ${url.protocol}//`);
  if (url.hostname === '') throw new Error('the host is missing');
  return url;
}

/** IPv6 hosts have brackets in a URL, but not in a connection option. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

export function integer(name: string, min: number, max: number): Setting<number> {
  return {
    name,
    expects: `a whole number from ${min} to ${max}`,
    parse: (value) =>
      z
        .string()
        .regex(/^\d{1,15}$/)
        .transform(Number)
        .pipe(z.int().min(min).max(max))
        .parse(value),
  };
}

export function boolean(name: string): Setting<boolean> {
  return { name, expects: 'true or false', parse: (value) => z.enum(['true', 'false']).parse(value) === 'true' };
}

export function text(name: string, expects: string): Setting<string> {
  return { name, expects, parse: (value) => value };
}

export function oneOf<const T extends string>(name: string, values: readonly T[]): Setting<T> {
  return { name, expects: `one of ${values.join(', ')}`, parse: (value) => z.enum(values).parse(value) };
}

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';

const SECRET = 's'.repeat(32);

describe('readConfig', () => {
  test('has a default for every setting except the secret', () => {
    const config = readConfig({ JWT_SECRET: SECRET }, 'api');
    expect(config).toMatchObject({
      port: 8080,
      internalPort: 9090,
      baseUrl: 'http://localhost:8080',
      trustProxyHops: 0,
      defaultPlan: 'free',
    });
    expect(config.mysql).toMatchObject({
      host: '127.0.0.1',
      port: 3306,
      user: 'hookbay',
      password: '',
      database: 'hookbay',
      tls: false,
    });
    expect(config.redis).toMatchObject({
      host: '127.0.0.1',
      port: 6379,
      username: undefined,
      password: undefined,
      db: 0,
      tls: false,
    });
    expect(config.external).toEqual({ mysql: false, redis: false });
  });

  test('a Redis Cluster and Sentinels are lists of servers, in place of one host', () => {
    const nodes = 'redis-0:7000, redis-1,[::1]:7002';
    expect(
      readConfig({ JWT_SECRET: SECRET, REDIS_CLUSTER_NODES: nodes, CAPTURE_QUEUE_SHARDS: '3' }, 'api').redis,
    ).toMatchObject({
      cluster: [
        { host: 'redis-0', port: 7000 },
        { host: 'redis-1', port: 6379 },
        { host: '::1', port: 7002 },
      ],
      sentinel: undefined,
      shards: 3,
      waitReplicas: 0,
    });
    const sentinels = { REDIS_SENTINELS: 's-0,s-1:1', REDIS_SENTINEL_PASSWORD: 'p', REDIS_TLS: 'true' };
    expect(readConfig({ JWT_SECRET: SECRET, ...sentinels, REDIS_WAIT_REPLICAS: '1' }, 'api').redis).toMatchObject({
      sentinel: {
        servers: [
          { host: 's-0', port: 26_379 },
          { host: 's-1', port: 1 },
        ],
        name: 'mymaster',
        username: undefined,
        password: 'p',
        tls: true,
      },
      waitReplicas: 1,
    });
  });

  test.each([
    [{ REDIS_CLUSTER_NODES: 'a', REDIS_URL: 'redis://b' }, /^REDIS_URL and REDIS_CLUSTER_NODES exclude each other$/m],
    [{ REDIS_CLUSTER_NODES: 'a', REDIS_SENTINELS: 'b' }, /^REDIS_CLUSTER_NODES and REDIS_SENTINELS exclude/m],
    [{ REDIS_SENTINELS: 'a', REDIS_HOST: 'b' }, /^REDIS_HOST and REDIS_SENTINELS exclude/m],
    [{ REDIS_CLUSTER_NODES: 'a', REDIS_DB: '1' }, /^REDIS_DB must be 0 with REDIS_CLUSTER_NODES$/m],
    [{ REDIS_CLUSTER_NODES: 'redis://a' }, /^REDIS_CLUSTER_NODES must be host:port,host:port/m],
    [{ REDIS_SENTINELS: 'a,,b' }, /^REDIS_SENTINELS must be host:port,host:port/m],
    [{ CAPTURE_QUEUE_SHARDS: '65' }, /^CAPTURE_QUEUE_SHARDS must be a whole number from 1 to 64/m],
    [{ REDIS_WAIT_REPLICAS: '-1' }, /^REDIS_WAIT_REPLICAS must be a whole number from 0 to 10/m],
  ])('refuses %j', (env, message) => {
    expect(() => readConfig({ JWT_SECRET: SECRET, ...env }, 'api')).toThrow(message);
  });

  test('an empty variable counts as unset', () => {
    expect(readConfig({ JWT_SECRET: SECRET, PORT: '', MYSQL_URL: '', REDIS_PASSWORD: '' }, 'api')).toMatchObject({
      port: 8080,
      redis: { password: undefined },
    });
  });

  test.each([' p@ss:w/o?r#d% []', 'quote\'s "and" \\', 'ünï😀'])(
    'a password may be %j, in a URL and in a variable of its own',
    (password) => {
      const encoded = encodeURIComponent(password);
      const urls = {
        JWT_SECRET: SECRET,
        MYSQL_URL: `mysql://us%40er:${encoded}@[::1]:3307/my%2Fdb`,
        REDIS_URL: `rediss://acl:${encoded}@redis.example:6380/5`,
      };
      expect(readConfig(urls, 'api')).toMatchObject({
        mysql: { host: '::1', port: 3307, user: 'us@er', password, database: 'my/db' },
        redis: { host: 'redis.example', port: 6380, username: 'acl', password, db: 5, tls: true },
        external: { mysql: true, redis: true },
      });
      expect(
        readConfig({ JWT_SECRET: SECRET, MYSQL_PASSWORD: password, REDIS_PASSWORD: password }, 'api'),
      ).toMatchObject({ mysql: { password }, redis: { password } });
    },
  );

  test.each([
    ['PORT', 'http', /^PORT must be a whole number from 0 to 65535 \(it is "http"\)$/m],
    ['PORT', '65536', /^PORT must be/m],
    ['PORT', '80.5', /^PORT must be/m],
    ['PORT', '1e3', /^PORT must be/m],
    ['PORT', '-1', /^PORT must be/m],
    ['INTERNAL_PORT', ' 9', /^INTERNAL_PORT must be/m],
    ['BASE_URL', 'hooks.example.com', /^BASE_URL must be an http:\/\/ or https:\/\/ address/m],
    ['CAPTURE_BASE_URL', 'in.example.com', /^CAPTURE_BASE_URL must be an http:\/\/ or https:\/\/ address/m],
    ['CAPTURE_BASE_URL', 'http://localhost:9/x', /^CAPTURE_BASE_URL must have another host name than BASE_URL/m],
    ['CUSTOM_RESPONSES', 'true', /^CUSTOM_RESPONSES must be one of off, safe, redirects/m],
    ['BASE_URL', 'ftp://a', /^BASE_URL must be/m],
    ['BASE_URL', 'https://a/?b', /^BASE_URL must be/m],
    ['LOG_LEVEL', 'loud', /^LOG_LEVEL must be one of trace, debug, info/m],
    ['DURABILITY', 'yes', /^DURABILITY must be one of warn, strict \(it is "yes"\)/m],
    ['REDIS_MEMORY_REFUSE_PERCENT', '101', /^REDIS_MEMORY_REFUSE_PERCENT must be a whole number from 30 to 100/m],
    ['TRUST_PROXY_HOPS', 'true', /^TRUST_PROXY_HOPS must be/m],
    ['MYSQL_TLS', '1', /^MYSQL_TLS must be true or false/m],
    ['REDIS_TLS', 'yes', /^REDIS_TLS must be true or false/m],
    ['REDIS_PREFIX', 'a:b', /^REDIS_PREFIX must be/m],
    ['REDIS_URL', 'http://a', /^REDIS_URL must be redis:\/\/.*it starts with http:\/\//m],
    ['REDIS_URL', 'redis://a/x', /^REDIS_URL must be/m],
    ['MYSQL_URL', 'mysql://a:b@c', /^MYSQL_URL must be .*the database name is missing/m],
    [
      'MYSQL_URL',
      'mysql://a:b@c/d?ssl-mode=REQUIRED',
      /^MYSQL_URL must be .*ssl-mode is not read here; set MYSQL_TLS=true/m,
    ],
    ['MYSQL_URL', 'nonsense', /^MYSQL_URL must be .*it is not a URL/m],
    ['DEFAULT_PLAN', 'gold', /^DEFAULT_PLAN must be one of free, pro, enterprise \(it is "gold"\)/m],
    ['PLANS', '{', /^PLANS must be .*is not JSON/m],
    ['PLANS', '[]', /^PLANS must be/m],
    ['PLANS', '{"free":{"dailyRequests":-1}}', /^PLANS must be .*free\.dailyRequests/m],
    ['PLANS', '{"free":{"dailyRequest":1}}', /^PLANS must be .*dailyRequest/m],
    ['PLANS', '{"free":{"maxRequestSize":1e12}}', /^PLANS must be .*free\.maxRequestSize/m],
    ['JWKS_URL', 'ftp://id.example/keys', /^JWKS_URL must be .*: it is not such an address$/m],
    [
      'JWKS_URL',
      'https://me:canary@id.example/keys',
      /^JWKS_URL must be .* without a user name or password: it has them$/m,
    ],
    ['JWT_SECRET', 'short', /^JWT_SECRET must be a secret of at least 32 bytes .*: it has 5$/m],
  ])('refuses %s=%j by name', (name, value, message) => {
    expect(() => readConfig({ JWT_SECRET: SECRET, [name]: value }, 'api')).toThrow(message);
  });

  test('reports all problems at once, and never prints a secret', () => {
    const env = {
      PORT: 'x',
      LOG_LEVEL: 'y',
      JWT_SECRET: 'hunter2',
      MYSQL_URL: 'mysql://root:hunter2@/x',
      REDIS_URL: 'hunter2',
    };
    let message = '';
    try {
      readConfig(env, 'api');
    } catch (error) {
      ({ message } = error as Error);
    }
    for (const name of Object.keys(env)) expect(message).toContain(name);
    expect(message).not.toContain('hunter2');
  });

  test('only roles that verify or create tokens need the secret', () => {
    for (const role of ['worker', 'migrate', 'local'] as const) expect(readConfig({}, role).jwt.secret).toBe('');
    for (const role of ['api', 'token'] as const)
      expect(() => readConfig({}, role)).toThrow(/JWT_SECRET must be .* it is not set/);
  });

  test('no other file reads the environment', () => {
    const files = ['api', 'worker', 'store', 'redis', 'queue', 'domain', 'ops'].flatMap((folder) =>
      globTs(`src/${folder}`),
    );
    for (const file of files) expect([file, readFileSync(file, 'utf8').includes('process.env')]).toEqual([file, false]);
  });

  test('the configuration page documents every setting', () => {
    const names = [
      ...['config', 'environment', 'redis-config']
        .map((file) => readFileSync(`src/${file}.ts`, 'utf8'))
        .join('')
        .matchAll(/'([A-Z][A-Z_]{3,})'/g),
    ].map(([, name]) => name as string);
    const page = readFileSync('src/ops/configuration.md', 'utf8');
    expect([...new Set(names)].filter((name) => name !== 'CERTIFICATE' && !page.includes(`\`${name}\``))).toEqual([]);
  });
});

function globTs(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`);
}

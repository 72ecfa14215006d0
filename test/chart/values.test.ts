import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../../src/config.ts';
import { BUNDLED, CHART, EXTERNAL, RELEASE, render, runHelm } from './support/helm.ts';
import { environmentOf, isTest, one, podOf, podsOf, specOf, type Manifest } from './support/manifests.ts';
import { chartSuite, newestHelm, tools } from './support/suite.ts';
import type { Helm } from './support/tools.ts';

interface ObjectSchema {
  properties?: Record<string, ObjectSchema>;
  additionalProperties?: unknown;
  $ref?: string;
  $defs?: Record<string, ObjectSchema>;
}

const schema = JSON.parse(readFileSync(`${CHART}/values.schema.json`, 'utf8')) as ObjectSchema;
const resolve = (node: ObjectSchema): ObjectSchema =>
  node.$ref === undefined ? node : (schema.$defs?.[node.$ref.split('/').at(-1) as string] as ObjectSchema);

/** Paths of closed objects' fields, in the schema's order. */
function pathsOfSchema(node: ObjectSchema, prefix = ''): string[] {
  const { properties, additionalProperties } = resolve(node);
  if (properties === undefined || additionalProperties !== false) return [prefix];
  return Object.entries(properties).flatMap(([name, child]) =>
    pathsOfSchema(child, `${prefix}${prefix && '.'}${name}`),
  );
}

test('the schema and values.yaml know the same values', () => {
  const values = parse(readFileSync(`${CHART}/values.yaml`, 'utf8')) as Record<string, unknown>;
  const get = (path: string): unknown =>
    path.split('.').reduce<unknown>((node, name) => (node as Record<string, unknown> | null)?.[name], values);
  // Left to Kubernetes by default; `enabled` belongs to a parent chart.
  const optional = /^enabled$|\.resources\.|^(api|worker)\.probes\.|\.timeouts\.|\.behavior\./;
  expect(pathsOfSchema(schema).filter((path) => !optional.test(path) && get(path) === undefined)).toEqual([]);
});

chartSuite('values reach the processes', () => {
  /** Variables that the chart does not set: alternatives to others, and those of `npm start`. */
  const NOT_SET = ['MYSQL_URL', 'REDIS_URL', 'DATA_DIR'];

  test('every setting has a value', async () => {
    const [, table = ''] =
      /# Configuration\n([\s\S]*?)\n\n#/.exec(readFileSync('src/ops/configuration.md', 'utf8')) ?? [];
    const settings = [...table.matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell]) =>
      [...(cell ?? '').matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, name]) => name as string),
    );
    const keys = [
      ['auth.jwt.jwksUrl=https://id/keys'],
      ['auth.jwt.publicKey.existingSecret=k'],
      ['redis.host=', 'redis.cluster.nodes={r:1}'],
      ['redis.host=', 'redis.sentinel.nodes={s:1}', 'redis.sentinel.username=u', 'redis.sentinel.password.value=p'],
      [],
    ];
    const renders = await Promise.all(
      keys.map((set) =>
        render(newestHelm(), {
          set: [
            ...EXTERNAL,
            'redis.username.value=u',
            'redis.password.value=p',
            'auth.jwt.issuer=i',
            'auth.jwt.audience=a',
            'captureBaseUrl=https://in.example.net',
            ...set,
          ],
          json: ['plans={"free":{}}'],
        }),
      ),
    );
    const set = new Set(
      podsOf(renders.flat()).flatMap(({ spec }) =>
        spec.containers.flatMap(({ env }) => (env ?? []).map(({ name }) => name)),
      ),
    );
    expect(settings.length).toBeGreaterThan(30);
    expect(settings.filter((name) => !set.has(name) && !NOT_SET.includes(name))).toEqual([]);
  });

  test.each(['bundled.yaml', 'given-values.yaml', 'everything.yaml'])(
    'the processes accept the settings of %s',
    async (file) => {
      const manifests = await render(newestHelm(), { file });
      const read = (role: 'api' | 'worker' | 'migrate', kind: string, ending: string): unknown =>
        readConfig(
          { JWT_SECRET: 'x'.repeat(32), ...environmentOf(manifests, podOf(manifests, kind, ending).container) },
          role,
        );
      expect(read('api', 'Deployment', '-api')).toMatchObject({
        port: 8080,
        internalPort: 9090,
        drainDelayMs: 10_000,
        shutdownTimeoutMs: 80_000,
      });
      expect(read('worker', 'Deployment', '-worker')).toMatchObject({ internalPort: 9090, shutdownTimeoutMs: 55_000 });
      expect(read('migrate', 'Job', '')).toBeDefined();
    },
  );

  test('a Redis Cluster and Sentinels take the place of a host', async () => {
    const redisOf = async (file: string): Promise<unknown> => {
      const manifests = await render(newestHelm(), { file });
      const environment = environmentOf(manifests, podOf(manifests, 'Deployment', '-worker').container);
      expect(environment).not.toHaveProperty('REDIS_HOST');
      return readConfig({ JWT_SECRET: 'x'.repeat(32), ...environment }, 'worker').redis;
    };
    expect(await redisOf('redis-cluster.yaml')).toMatchObject({
      cluster: [
        { host: 'redis-0.redis', port: 6379 },
        { host: 'redis-1.redis', port: 6379 },
        { host: '10.0.0.7', port: 7002 },
      ],
      shards: 3,
      waitReplicas: 1,
    });
    expect(await redisOf('redis-sentinel.yaml')).toMatchObject({
      sentinel: { servers: { length: 3 }, name: 'hooks', tls: true, username: 'watcher' },
      tls: true,
      waitReplicas: 1,
    });
  });

  test.each([
    ['redis-cluster.yaml', [6379, 7002]],
    ['redis-sentinel.yaml', [6380, 26_379]],
  ])('network policies let %s through', async (file, ports) => {
    const policy = one(await render(newestHelm(), { file }), 'NetworkPolicy', '-worker');
    const egress = specOf(policy, 'egress') as { ports: { port: number }[] }[];
    expect(egress.map((rule) => rule.ports.map(({ port }) => port))).toContainEqual(ports);
  });

  test('every process trusts the private authority, including the migration', async () => {
    const manifests = await render(newestHelm(), {
      set: [...EXTERNAL, 'mysql.tls.enabled=true', 'extraCa.existingSecret=private-ca'],
    });
    for (const [kind, ending] of [
      ['Deployment', '-api'],
      ['Deployment', '-worker'],
      ['Job', '-migrate'],
    ] as const) {
      const { container } = podOf(manifests, kind, ending);
      expect(environmentOf(manifests, container), ending).toMatchObject({
        MYSQL_TLS: 'true',
        NODE_EXTRA_CA_CERTS: '/etc/hookbay/ca/ca.crt',
      });
      expect(
        container.volumeMounts?.map(({ mountPath }) => mountPath),
        ending,
      ).toContain('/etc/hookbay/ca');
    }
  });

  test("config and extraEnv override the chart's settings, the component's last, each name once", async () => {
    const manifests = await render(newestHelm(), { file: 'everything.yaml' });
    const api = podOf(manifests, 'Deployment', '-api').container.env ?? [];
    const names = api.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
    expect(api.find(({ name }) => name === 'LOG_LEVEL')).toHaveProperty('valueFrom.configMapKeyRef.key', 'api');
    expect(environmentOf(manifests, { name: '', image: '', env: api })).toMatchObject({
      JWT_PLAN_CLAIM: 'tier',
      MYSQL_POOL_SIZE: '25',
      INTAKE_MAX_BYTES: '134217728',
      LIVE_EVENTS: 'false',
      CAPTURE_BASE_URL: 'https://in.example.net',
      CUSTOM_RESPONSES: 'redirects',
      PAGE: 'false',
      HTTPS_PROXY: 'http://proxy:3128',
    });
    const worker = podOf(manifests, 'Deployment', '-worker').container;
    expect(environmentOf(manifests, worker)).toMatchObject({ LOG_LEVEL: 'warn' });
    expect(environmentOf(manifests, worker)).not.toHaveProperty('PAGE');
    expect(environmentOf(manifests, podOf(manifests, 'Job', '').container)).toMatchObject({
      MYSQL_USER: 'owner',
      LOG_LEVEL: 'warn',
    });
  });

  test.each([
    [[], /mysql\.host is missing .*[\s\S]*redis\.host is missing/],
    [[...EXTERNAL, 'redis.cluster.nodes={a:1}'], /redis\.cluster\.nodes and redis\.host exclude each other/],
    [['redis.sentinel.nodes={a:1}', ...BUNDLED], /redis\.sentinel\.nodes and redis\.bundled\.enabled exclude/],
    [
      [...EXTERNAL, 'redis.host=', 'redis.cluster.nodes={a:1}', 'redis.db=1'],
      /redis\.db must be 0 with redis\.cluster\.nodes/,
    ],
    [[...EXTERNAL, 'redis.host=', 'redis.cluster.nodes={redis-0}'], /redis\/cluster\/nodes|redis\.cluster\.nodes/],
    [[...EXTERNAL, 'redis.shards=2', 'worker.keda.enabled=true'], /worker\.keda\.enabled looks at one queue/],
    [[...BUNDLED, 'redis.waitReplicas=1'], /redis\.waitReplicas is for an external Redis/],
    [['mysql.host=db', ...BUNDLED], /mysql\.host and mysql\.bundled\.enabled exclude each other/],
    [['mysql.host=db', 'redis.host=r'], /mysql\.password\.existingSecret .* is missing/],
    [
      [...EXTERNAL, 'mysql.password.value=x'],
      /mysql\.password\.value and mysql\.password\.existingSecret exclude each other/,
    ],
    [
      [...BUNDLED, 'auth.jwt.jwksUrl=https://a', 'auth.jwt.secret.existingSecret=b'],
      /auth\.jwt\.jwksUrl and auth\.jwt\.secret exclude each other/,
    ],
    [
      [...BUNDLED, 'baseUrl=https://a.example/x', 'captureBaseUrl=http://a.example:8080'],
      /captureBaseUrl must have another host name than baseUrl/,
    ],
    [[...BUNDLED, 'auth.jwt.secret.value=short'], /auth\.jwt\.secret\.value must have at least 32 bytes/],
    [
      [...BUNDLED, 'mysql.tls.enabled=true', 'redis.tls.enabled=true'],
      /mysql\.tls\.enabled is for [\s\S]*redis\.tls\.enabled is for an external store; the bundled one speaks no TLS/,
    ],
    [[...BUNDLED, 'ingress.enabled=true'], /ingress\.hosts is missing/],
    [[...BUNDLED, 'httpRoute.enabled=true'], /httpRoute\.parentRefs is missing/],
    [
      [...BUNDLED, 'ingress.enabled=true', 'ingress.hosts={*.example.com}'],
      /baseUrl is missing: nobody can call \*\.example\.com/,
    ],
    [
      [...BUNDLED, 'httpRoute.enabled=true', 'httpRoute.parentRefs[0].name=public'],
      /baseUrl is missing: httpRoute has no hostnames/,
    ],
    [
      [...BUNDLED, 'config.INTERNAL_PORT=1', 'config.PORT=2'],
      /config must not set INTERNAL_PORT[\s\S]*config must not set PORT/,
    ],
    [[...BUNDLED, 'nameOverride=Web_Hook'], /nameOverride/],
    [[...BUNDLED, 'fullnameOverride=2nd'], /fullnameOverride/],
    [[...BUNDLED, 'httpRoute.timeouts.request=45s'], /httpRoute\.timeouts\.request must be 0s or more than 45s/],
    [
      [...BUNDLED, 'api.intakeMaxBytes=600000000'],
      /api\.intakeMaxBytes and api\.answerMaxBytes together must be at most half/,
    ],
    [
      [...BUNDLED, 'metrics.podMonitor.enabled=true', 'metrics.serviceMonitor.enabled=true'],
      /exclude each other, since every sample would count twice/,
    ],
    [[...BUNDLED, 'redis.memoryRefusePercent=60'], /redisMemoryPercent must be below redis\.memoryRefusePercent/],
    [
      [...BUNDLED, 'api.podLabels.app\\.kubernetes\\.io/component=x'],
      /api\.podLabels must not set app\.kubernetes\.io\/component/,
    ],
    [[...BUNDLED, 'redis.prefix=a:b'], /prefix/],
    [[...BUNDLED, 'image.digest=latest'], /digest/],
  ])('%j is refused with a remedy', async (set, message) => {
    await expect(render(newestHelm(), { set })).rejects.toThrow(message);
  });

  test('the schema and the processes have the same minima and maxima', async () => {
    const bounds: Record<string, [minimum: number, maximum: number]> = {
      trustProxyHops: [0, 20],
      expiredGraceHours: [0, 8_760],
      'rateLimits.apiPerMinute': [0, 1_000_000_000],
      'rateLimits.verifyPerMinute': [0, 1_000_000_000],
      'live.maxSocketsPerUser': [1, 1_000_000],
      'live.maxBufferedBytes': [2 ** 20, 2 ** 30],
      'mysql.poolSize': [2, 1_000],
      'redis.db': [0, 1_000_000],
      'redis.memoryRefusePercent': [30, 100],
      'api.intakeMaxBytes': [2 ** 20, 2 ** 40],
      'worker.concurrency': [1, 1_000],
      'worker.jobLockMs': [1_000, 600_000],
      'migrations.waitSeconds': [0, 600],
    };
    const others = ['api.resources.limits.memory=4Ti', 'metrics.prometheusRule.thresholds.redisMemoryPercent=29'];
    for (const i of [0, 1] as const) {
      const set = Object.entries(bounds).map(([path, pair]) => `${path}=${pair[i]}`);
      const manifests = await render(newestHelm(), { set: [...BUNDLED, ...others, ...set] });
      for (const role of ['api', 'worker'] as const)
        expect(
          readConfig(environmentOf(manifests, podOf(manifests, 'Deployment', `-${role}`).container), role),
        ).toBeDefined();
      expect(readConfig(environmentOf(manifests, podOf(manifests, 'Job', '').container), 'migrate')).toMatchObject({
        migrateWaitMs: i * 600_000,
      });
      const beyond = Object.entries(bounds).map(([path, pair]) => `${path}=${pair[i] + (i === 0 ? -1 : 1)}`);
      const refusal = await render(newestHelm(), { set: [...BUNDLED, ...others, ...beyond] }).then(() => '', String);
      for (const path of Object.keys(bounds)) expect(refusal, path).toContain(`'/${path.replaceAll('.', '/')}'`);
    }
  });

  test('Ingress and HTTPRoute bring every path of each host to the API, the page at / too', async () => {
    const hosts = ['hooks.example.com', 'in.example.net'];
    const manifests = await render(newestHelm(), {
      set: [
        ...EXTERNAL,
        'captureBaseUrl=https://in.example.net',
        'ingress.enabled=true',
        `ingress.hosts={${hosts.join(',')}}`,
        'httpRoute.enabled=true',
        'httpRoute.parentRefs[0].name=gateway',
        `httpRoute.hostnames={${hosts.join(',')}}`,
      ],
    });
    const service = { service: { name: 'hb-hookbay-api', port: { name: 'http' } } };
    expect(specOf(one(manifests, 'Ingress', 'hb-hookbay'), 'rules')).toEqual(
      hosts.map((host) => ({ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend: service }] } })),
    );
    const route = one(manifests, 'HTTPRoute', 'hb-hookbay');
    expect(specOf(route, 'hostnames')).toEqual(hosts);
    expect(specOf(route, 'rules')).toEqual([
      {
        matches: [{ path: { type: 'PathPrefix', value: '/' } }],
        backendRefs: [expect.objectContaining({ name: 'hb-hookbay-api' })],
      },
    ]);
  });

  test('common labels are added to the chart’s, and do not change those of selectors and Helm', async () => {
    const manifests = await render(newestHelm(), {
      set: BUNDLED,
      json: [
        'commonLabels={"app.kubernetes.io/name":"x","app.kubernetes.io/managed-by":"me","app.kubernetes.io/part-of":"platform","team":"a"}',
      ],
    });
    for (const { kind, metadata } of manifests.filter((manifest) => !isTest(manifest))) {
      expect(metadata.labels, kind).toMatchObject({
        'app.kubernetes.io/name': 'hookbay',
        'app.kubernetes.io/managed-by': 'Helm',
        'app.kubernetes.io/part-of': 'platform',
        team: 'a',
      });
    }
  });

  test('removed limits, a Recreate strategy, and names that YAML would read as another type', async () => {
    const manifests = await render(newestHelm(), {
      set: ['mysql.host=db', 'redis.host=cache', 'worker.strategy.type=Recreate'],
      json: ['api.resources=null', 'mysql.password={"existingSecret":"123","key":"on"}', 'priorityClassName="1e3"'],
    });
    expect(specOf(one(manifests, 'Deployment', '-worker'), 'strategy')).toEqual({ type: 'Recreate' });
    const { spec, container } = podOf(manifests, 'Deployment', '-api');
    expect(container.env?.find(({ name }) => name === 'MYSQL_PASSWORD')?.valueFrom?.secretKeyRef).toEqual({
      name: '123',
      key: 'on',
    });
    expect(spec).toMatchObject({ priorityClassName: '1e3' });
    const bundled = await render(newestHelm(), { set: [...BUNDLED, 'redis.bundled.persistence.storageClass=-'] });
    expect(JSON.stringify(one(bundled, 'StatefulSet', '-redis').spec)).toContain('"storageClassName":"-"');
  });

  test('the pods of the defaults request the resources in README.md', async () => {
    const manifests = await render(newestHelm(), { set: BUNDLED });
    const millicores = podsOf(manifests).flatMap(({ owner, spec }) => {
      const { cpu = '' } = spec.containers[0]?.resources?.requests ?? {};
      return owner.kind === 'Job' || owner.kind === 'Pod'
        ? []
        : [Number(cpu.replace('m', '')) * Number(specOf(owner, 'replicas'))];
    });
    const sum = millicores.reduce((total, one) => total + one) / 1000;
    expect(readFileSync(`${CHART}/README.md`, 'utf8')).toContain(`${sum} cores and 3.5 GiB with both bundled stores`);
    expect(sum).toBeLessThanOrEqual(0.6);
  });

  describe('helm test', () => {
    const testOf = (manifests: Manifest[]): Manifest | undefined => manifests.find(isTest);

    test('signs with the secret of the API', async () => {
      const { container } = podOf(await render(newestHelm(), { set: BUNDLED }), 'Pod', '-test');
      expect(container.env?.find(({ name }) => name === 'JWT_SECRET')?.valueFrom?.secretKeyRef).toEqual({
        name: 'hb-hookbay',
        key: 'jwt-secret',
      });
      expect(container.command).toEqual(['node', '--input-type=module', '--eval']);
      expect(container.args?.[0]?.trim()).toBe(readFileSync(`${CHART}/files/capture-test.mjs`, 'utf8').trim());
    });

    test('uses a token where it cannot sign one, and is left out without one', async () => {
      const { container } = podOf(await render(newestHelm(), { file: 'public-key.yaml' }), 'Pod', '-test');
      expect(container.env?.map(({ name }) => name)).toEqual(['API_URL', 'TOKEN']);
      expect(testOf(await render(newestHelm(), { file: 'key-server.yaml' }))).toBeUndefined();
    });
  });

  test('the notes name the next steps, and that generated values need access to the cluster', async () => {
    // Helm 3 prints no notes without a cluster.
    const notes = (set: string[]): Promise<string> =>
      runHelm(tools.helms.find(({ major }) => major >= 4) as Helm, [
        'install',
        RELEASE,
        CHART,
        '--dry-run=client',
        ...set.flatMap((value) => ['--set', value]),
      ]);
    const bundled = await notes(BUNDLED);
    expect(bundled).toContain(
      'kept in the Secret hb-hookbay: jwt-secret mysql-password mysql-root-password redis-password.',
    );
    expect(bundled).toMatch(/under `helm template`, Argo CD/);
    expect(bundled).toContain('exec deploy/hb-hookbay-api -- node dist/src/main.js token --sub me');
    const own = await notes([
      ...EXTERNAL,
      'auth.jwt.jwksUrl=https://id/keys',
      'ingress.enabled=true',
      'ingress.hosts={hooks.example.com}',
    ]);
    expect(own).not.toContain('helm template');
    expect(own).toContain('Endpoint URLs begin with http://hooks.example.com');
    expect(own).toContain('trustProxyHops is 0');
    expect(own).toContain('watch it at http://hooks.example.com/#token=…');
    expect(own).toContain('Your identity provider issues them');
  });

  test('network policies allow the needed traffic, and that of migration and test to the bundled stores', async () => {
    const manifests = await render(newestHelm(), { file: 'network-policies.yaml' });
    const sources = (name: string): string[] => {
      const [rule] = specOf(one(manifests, 'NetworkPolicy', name), 'ingress') as {
        from: { podSelector?: { matchLabels: Record<string, string> } }[];
      }[];
      return (rule?.from ?? []).flatMap(
        ({ podSelector }) => podSelector?.matchLabels['app.kubernetes.io/component'] ?? [],
      );
    };
    expect(sources('hookbay-mysql')).toEqual(['api', 'worker', 'migration', 'test']);
    expect(sources('hookbay-redis')).toEqual(['api', 'worker', 'test']);
    expect(sources('hookbay-api')).toEqual(['test']);
    for (const name of ['mysql', 'redis'])
      expect(one(manifests, 'NetworkPolicy', `hookbay-${name}`).spec).not.toHaveProperty('egress');
    const hook = await render(newestHelm(), { file: 'network-policies-hook.yaml' });
    expect(one(hook, 'NetworkPolicy', '-migration').metadata.annotations).toMatchObject({
      'helm.sh/hook': 'pre-install,pre-upgrade',
      'helm.sh/hook-weight': '-10',
    });
    expect(JSON.stringify(one(hook, 'NetworkPolicy', '-api').spec)).toContain('{"port":8443,"protocol":"TCP"}');
  });
});

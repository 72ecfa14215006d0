import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QueueKeys } from 'bullmq';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { CAPTURE_QUEUES } from '../../src/queue/capture-queue.ts';
import { redisKeys } from '../../src/redis/keys.ts';
import { BUNDLED, CHART, EXTERNAL, NAMESPACE, render, runHelm, VALUES, type RenderOptions } from './support/helm.ts';
import { startFakeCluster } from './support/kube-apiserver.ts';
import {
  environmentOf,
  hooksOf,
  isHook,
  isTest,
  one,
  podOf,
  podsOf,
  specOf,
  type Manifest,
} from './support/manifests.ts';
import { eachHelm } from './support/suite.ts';

/* Frequent complaints of the users of other charts, one group each. */
eachHelm('complaints about charts', (helm) => {
  const migrationOf = (manifests: Manifest[]): Manifest => manifests.find(({ kind }) => kind === 'Job') as Manifest;

  describe('a pre-install job waits for a database that the same chart brings', () => {
    test('with the bundled MySQL the migration is a plain Job, with an external one a hook', async () => {
      const bundled = migrationOf(await render(helm, { set: BUNDLED }));
      expect(isHook(bundled)).toBe(false);
      expect(bundled.metadata.name).toMatch(/^hb-hookbay-migrate-[0-9a-f]{10}$/);
      const external = migrationOf(await render(helm, { set: EXTERNAL }));
      expect(hooksOf(external)).toEqual(['pre-install', 'pre-upgrade']);
      expect(external.metadata.annotations?.['helm.sh/hook-delete-policy']).toBe('before-hook-creation');
    });

    test('a hook with the bundled MySQL is refused', async () => {
      await expect(render(helm, { set: [...BUNDLED, 'migrations.mode=hook'] })).rejects.toThrow(
        /migrations\.mode=hook can't work with mysql\.bundled\.enabled/,
      );
    });

    test('the Job tries until its deadline, because an upgrade does not run a failed one again', async () => {
      const { backoffLimit, activeDeadlineSeconds } = migrationOf(await render(helm, { set: BUNDLED })).spec as {
        backoffLimit: number;
        activeDeadlineSeconds: number;
      };
      // Kubernetes waits 10 s before the second try, and twice as long before each further one, up to six minutes.
      const waits = Array.from({ length: backoffLimit }, (_, i) => Math.min(10 * 2 ** i, 360));
      expect(waits.reduce((sum, wait) => sum + wait)).toBeGreaterThanOrEqual(activeDeadlineSeconds);
    });

    test('a given password reaches the hook by a copy that is an earlier hook, which is removed afterwards', async () => {
      const manifests = await render(helm, { file: 'given-values.yaml' });
      const reference = podOf(manifests, 'Job', '-migrate').container.env?.find(({ name }) => name === 'MYSQL_PASSWORD')
        ?.valueFrom?.secretKeyRef;
      const copy = one(manifests, 'Secret', '-migrate');
      expect(reference).toEqual({ name: copy.metadata.name, key: 'mysql-external-password' });
      expect(hooksOf(copy)).toEqual(['pre-install', 'pre-upgrade']);
      expect(copy.metadata.annotations).toMatchObject({
        'helm.sh/hook-weight': '-10',
        'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
      });
      expect(copy.data).toEqual({
        'mysql-external-password': one(manifests, 'Secret', 'hookbay').data?.['mysql-external-password'],
      });
    });

    test('a plain Job gets another name when its spec changes, and only then', async () => {
      const name = async (...set: string[]): Promise<string> =>
        migrationOf(await render(helm, { file: 'job.yaml', set })).metadata.name;
      const first = await name();
      expect(await name('worker.replicaCount=7', 'commonLabels.team=x')).toBe(first);
      expect(await name('image.tag=0.2.0')).not.toBe(first);
      expect(await name('mysql.host=other')).not.toBe(first);
    });
  });

  test('a post-install migration and --wait wait for each other: no pod waits for a resource that is created after the pods', async () => {
    for (const options of [{ set: BUNDLED }, { set: EXTERNAL }, { file: 'job.yaml' }] satisfies RenderOptions[]) {
      const manifests = await render(helm, options);
      const job = migrationOf(manifests);
      expect(isHook(job) ? hooksOf(job) : []).not.toContain('post-install');
      expect(manifests.filter((manifest) => hooksOf(manifest).some((hook) => hook.startsWith('post-')))).toEqual([]);
      // The pods wait by their start-up probe: neither init containers nor a tool that watches Jobs.
      for (const role of ['api', 'worker']) {
        const { spec, container } = podOf(manifests, 'Deployment', `-${role}`);
        expect(spec.initContainers).toBeUndefined();
        expect(container.startupProbe?.httpGet).toEqual({ path: '/readyz', port: 'internal' });
        expect(
          (container.startupProbe?.periodSeconds ?? 0) * (container.startupProbe?.failureThreshold ?? 0),
        ).toBeGreaterThanOrEqual(300);
      }
    }
  });

  describe('secrets are generated again with each sync', () => {
    const NAME = 'hb-hookbay';
    const dataOf = async (options: RenderOptions): Promise<Record<string, string>> =>
      one(await render(helm, options), 'Secret', 'hookbay').data ?? {};
    const inCluster = async (
      data: Record<string, string> | undefined,
      set = BUNDLED,
    ): Promise<Record<string, string>> => {
      // Without any `data`, like a Secret that was emptied.
      const cluster = await startFakeCluster([
        { apiVersion: 'v1', kind: 'Secret', metadata: { name: NAME }, ...(data && { data }) },
      ]);
      onTestFinished(() => cluster.close());
      return dataOf({
        set,
        args: ['--dry-run=server', '--disable-openapi-validation'],
        env: { KUBECONFIG: cluster.kubeconfig },
      });
    };

    test('values in the cluster stay unchanged, byte for byte; missing ones are added', async () => {
      const kept = { 'jwt-secret': 'S0VQVA==', 'redis-password': 'QUxTTw==' };
      const data = await inCluster(kept);
      expect(data).toMatchObject(kept);
      expect(Object.keys(data).toSorted()).toEqual([
        'jwt-secret',
        'mysql-password',
        'mysql-root-password',
        'redis-password',
      ]);
    });

    test('a Secret without data is no error', async () => {
      expect(Buffer.from((await inCluster(undefined))['jwt-secret'] ?? '', 'base64').toString()).toMatch(
        /^[A-Za-z0-9]{64}$/,
      );
    });

    test('a given value overrides that in the cluster', async () => {
      const given = 'x'.repeat(40);
      expect(
        await inCluster({ 'jwt-secret': 'S0VQVA==' }, [...BUNDLED, `auth.jwt.secret.value=${given}`]),
      ).toMatchObject({ 'jwt-secret': Buffer.from(given).toString('base64') });
    });

    test('they are letters and digits, differ between installations, and outlive the release as the volumes do', async () => {
      const [first, second] = await Promise.all([render(helm, { set: BUNDLED }), render(helm, { set: BUNDLED })]);
      const secret = one(first, 'Secret', 'hookbay');
      for (const [key, value] of Object.entries(secret.data ?? {})) {
        expect(Buffer.from(value, 'base64').toString()).toMatch(/^[A-Za-z0-9]{32,64}$/);
        expect(one(second, 'Secret', 'hookbay').data?.[key]).not.toBe(value);
      }
      expect(secret.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
    });

    test('they restart nothing: pods differ in no annotation between two renders', async () => {
      const templates = async (): Promise<unknown[]> =>
        podsOf((await render(helm, { set: BUNDLED })).filter((manifest) => !isTest(manifest))).map(
          ({ owner }) => owner.spec,
        );
      expect(await templates()).toEqual(await templates());
    });

    test('with existing Secrets nothing is generated, and the chart has no Secret of its own', async () => {
      const manifests = await render(helm, { file: 'existing-secrets.yaml' });
      expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([]);
    });
  });

  describe('a password with ]?#@ breaks the composed URL', () => {
    test('the process reads exactly what was given, through the Secret and discrete variables', async () => {
      const manifests = await render(helm, { file: 'given-values.yaml' });
      for (const [role, ending] of [
        ['api', '-api'],
        ['worker', '-worker'],
      ] as const) {
        const config = readConfig(environmentOf(manifests, podOf(manifests, 'Deployment', ending).container), role);
        expect(config.mysql).toMatchObject({ host: 'mysql.example.com', port: 3307, password: 'a]?#@b$c\'d"e\\f g%h' });
        expect(config.redis).toMatchObject({
          host: 'redis.example.com',
          port: 6380,
          db: 5,
          username: 'acl-user',
          password: 'r]?#@:/"\'\\$ %',
        });
      }
      const migrate = readConfig(environmentOf(manifests, podOf(manifests, 'Job', '-migrate').container), 'migrate');
      expect(migrate.mysql.password).toBe('a]?#@b$c\'d"e\\f g%h');
    });

    test('another password restarts the pods', async () => {
      const annotations = async (...set: string[]): Promise<unknown> =>
        (
          specOf(one(await render(helm, { file: 'given-values.yaml', set }), 'Deployment', '-api'), 'template') as {
            metadata: { annotations: unknown };
          }
        ).metadata.annotations;
      expect(await annotations()).toHaveProperty('checksum/credentials');
      expect(await annotations('redis.password.value=other')).not.toEqual(await annotations());
    });
  });

  test('liveness coupled to the database restarts everything in an outage: it only checks the event loop, with a long time-out', async () => {
    const manifests = await render(helm, { set: BUNDLED });
    for (const role of ['api', 'worker']) {
      const { livenessProbe, readinessProbe } = podOf(manifests, 'Deployment', `-${role}`).container;
      expect(livenessProbe?.httpGet).toEqual({ path: '/livez', port: 'internal' });
      expect((livenessProbe?.periodSeconds ?? 0) * (livenessProbe?.failureThreshold ?? 0)).toBeGreaterThanOrEqual(60);
      expect(readinessProbe?.httpGet).toEqual({ path: '/readyz', port: 'internal' });
    }
    for (const store of ['mysql', 'redis'])
      expect(podOf(manifests, 'StatefulSet', store).container.livenessProbe?.tcpSocket).toEqual({ port: store });
  });

  describe('the replicas of chart and autoscaler conflict', () => {
    test.each([
      ['api', 'hpa.yaml', 'HorizontalPodAutoscaler'],
      ['worker', 'hpa.yaml', 'HorizontalPodAutoscaler'],
      ['worker', 'keda.yaml', 'ScaledObject'],
    ])('%s with %s: only the %s sets the number', async (role, file, kind) => {
      const manifests = await render(helm, { file });
      expect(one(manifests, 'Deployment', `-${role}`).spec).not.toHaveProperty('replicas');
      expect((specOf(one(manifests, kind, `-${role}`), 'scaleTargetRef') as { name: string }).name).toBe(
        `hb-hookbay-${role}`,
      );
    });

    test('without one the Deployment does', async () => {
      const manifests = await render(helm, { set: BUNDLED });
      for (const role of ['api', 'worker'])
        expect(one(manifests, 'Deployment', `-${role}`).spec).toMatchObject({ replicas: 2 });
    });

    test('two autoscalers are refused', async () => {
      await expect(render(helm, { file: 'keda.yaml', set: ['worker.autoscaling.enabled=true'] })).rejects.toThrow(
        /worker\.autoscaling\.enabled and worker\.keda\.enabled exclude each other/,
      );
    });
  });

  test('"field is immutable": no upgrade changes a selector, whatever values it changes', async () => {
    const selectors = (manifests: Manifest[]): unknown[] =>
      manifests
        .filter(({ kind }) => /Deployment|StatefulSet/.test(kind))
        .map(({ kind, metadata, spec }) => [kind, metadata.name, spec?.['selector'], spec?.['serviceName']]);
    const folder = mkdtempSync(join(tmpdir(), 'hookbay-chart-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    cpSync(CHART, folder, { recursive: true });
    const chart = readFileSync(join(folder, 'Chart.yaml'), 'utf8');
    writeFileSync(
      join(folder, 'Chart.yaml'),
      chart.replace(/^version: .*/m, 'version: 9.9.9').replace(/^appVersion: .*/m, 'appVersion: "9.9.9"'),
    );
    const later = await render(helm, {
      chart: folder,
      set: [
        ...BUNDLED,
        'image.tag=other',
        'podLabels.team=x',
        'commonLabels.team=x',
        'api.podLabels.x=y',
        'worker.replicaCount=9',
        'migrations.mode=job',
      ],
    });
    const first = selectors(await render(helm, { set: BUNDLED }));
    expect(first).toHaveLength(4);
    expect(selectors(later)).toEqual(first);
    expect(
      first.map((entry) => Object.keys((entry as [string, string, { matchLabels: object }])[2].matchLabels)),
    ).toEqual(
      Array.from({ length: 4 }, () => [
        'app.kubernetes.io/name',
        'app.kubernetes.io/instance',
        'app.kubernetes.io/component',
      ]),
    );
  });

  describe('scaling down kills busy workers', () => {
    test('a worker has its grace period for its running jobs, and scaling down is slow', async () => {
      const manifests = await render(helm, { file: 'keda.yaml' });
      const { spec, container } = podOf(manifests, 'Deployment', '-worker');
      const env = environmentOf(manifests, container);
      expect(Number(env['SHUTDOWN_TIMEOUT_MS'])).toBe(((spec.terminationGracePeriodSeconds ?? 0) - 5) * 1000);
      expect(Number(env['SHUTDOWN_TIMEOUT_MS'])).toBeGreaterThanOrEqual(30_000);
      expect(one(manifests, 'ScaledObject').spec).toMatchObject({
        advanced: { horizontalPodAutoscalerConfig: { behavior: { scaleDown: { stabilizationWindowSeconds: 300 } } } },
      });
      for (const role of ['api', 'worker']) {
        expect(one(manifests, 'PodDisruptionBudget', `-${role}`).spec).toMatchObject({
          maxUnavailable: 1,
          unhealthyPodEvictionPolicy: 'AlwaysAllow',
        });
        expect(one(manifests, 'Deployment', `-${role}`).spec).toMatchObject({
          strategy: { rollingUpdate: { maxUnavailable: 0 } },
        });
      }
    });

    test('the last worker is never removed: it promotes delayed jobs and sweeps', async () => {
      await expect(render(helm, { file: 'keda.yaml', set: ['worker.keda.minReplicaCount=0'] })).rejects.toThrow(
        /minReplicaCount/,
      );
    });

    test('a grace period that is too short for preStop and drain is refused', async () => {
      await expect(render(helm, { set: [...BUNDLED, 'api.terminationGracePeriodSeconds=29'] })).rejects.toThrow(
        /api\.terminationGracePeriodSeconds must be at least 30/,
      );
      expect(await render(helm, { set: [...BUNDLED, 'api.terminationGracePeriodSeconds=30'] })).not.toEqual([]);
    });
  });

  test('KEDA reads another key than the queue uses', async () => {
    const manifests = await render(helm, { file: 'keda.yaml' });
    const env = environmentOf(manifests, podOf(manifests, 'Deployment', '-worker').container);
    const triggers = specOf(one(manifests, 'ScaledObject'), 'triggers') as {
      type: string;
      metadata: Record<string, string>;
    }[];
    const redis = triggers.filter(({ type }) => type === 'redis').map(({ metadata }) => metadata);
    const keys = new QueueKeys(redisKeys(env['REDIS_PREFIX'] ?? '').queues);
    expect(redis.map(({ listName }) => listName)).toEqual(CAPTURE_QUEUES.map((queue) => keys.toKey(queue, 'wait')));
    for (const metadata of redis)
      expect(metadata).toMatchObject({ address: 'redis.example.com:6380', databaseIndex: '3', enableTLS: 'true' });
    expect(env).toMatchObject({
      REDIS_HOST: 'redis.example.com',
      REDIS_PORT: '6380',
      REDIS_DB: '3',
      REDIS_TLS: 'true',
      NODE_EXTRA_CA_CERTS: '/etc/hookbay/ca/ca.crt',
    });
    expect(specOf(one(manifests, 'TriggerAuthentication'), 'secretTargetRef')).toEqual([
      { parameter: 'password', name: 'cache-login', key: 'password' },
      { parameter: 'username', name: 'cache-login', key: 'user' },
      { parameter: 'ca', name: 'private-ca', key: 'ca.pem' },
    ]);
    // KEDA's operator runs in a namespace of its own.
    const bundled = specOf(one(await render(helm, { file: 'keda-plain.yaml' }), 'ScaledObject'), 'triggers') as {
      metadata: { address: string };
    }[];
    expect(bundled.map(({ metadata }) => metadata.address)).toEqual(
      CAPTURE_QUEUES.map(() => `hb-hookbay-redis.${NAMESPACE}.svc:6379`),
    );
  });

  test('a misspelt value is accepted silently', async () => {
    for (const typo of [
      'api.replcaCount=3',
      'mysql.pasword.value=x',
      'metrics.podMonitor.enabeld=true',
      'replicas=2',
    ]) {
      const name = (typo.split('=')[0] as string).split('.').at(-1) as string;
      await expect(render(helm, { set: [...BUNDLED, typo] }), typo).rejects.toThrow(name);
      await expect(
        runHelm(helm, ['lint', '--strict', CHART, '--values', `${VALUES}/bundled.yaml`, '--set', typo]),
        typo,
      ).rejects.toThrow(name);
    }
    expect(await render(helm, { set: [...BUNDLED, 'enabled=true', 'global.whatever.a=1'] })).not.toEqual([]);
  });
});

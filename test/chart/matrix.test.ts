import { readdirSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { CHART, render, runHelm, VALUES } from './support/helm.ts';
import {
  environmentOf,
  hooksOf,
  isHook,
  isTest,
  one,
  podsOf,
  selects,
  type Container,
  type Manifest,
  type PodSpec,
} from './support/manifests.ts';
import { openSchemas } from './support/schemas.ts';
import { chartSuite, eachHelm, newestHelm, tools } from './support/suite.ts';

const FILES = readdirSync(VALUES);

let validate: (manifest: Manifest) => string[];
beforeAll(() => {
  if (tools.missing.length === 0) validate = openSchemas();
});

/** Names of Secrets that exist before the release, as in the values. */
const FOREIGN = /^(db-login|db-root|cache-login|jwt|test-token|private-ca|certs)$/;

eachHelm('what every set of values renders', (helm) => {
  describe.each(FILES)('%s', (file) => {
    let manifests: Manifest[];
    beforeAll(async () => {
      manifests = await render(helm, { file });
    });

    test('passes the linter, strictly', async () => {
      expect(
        await runHelm(helm, ['lint', '--strict', CHART, '--values', `${VALUES}/${file}`, '--kube-version', '1.36.2']),
      ).toContain('0 chart(s) failed');
    });

    test('is valid for Kubernetes 1.36 and the operators, field by field', () => {
      expect(manifests.flatMap(validate)).toEqual([]);
      const names = manifests.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
      expect(names).toEqual([...new Set(names)]);
    });

    test('conforms to the restricted pod security', () => {
      for (const { owner, spec } of podsOf(manifests)) {
        expect(spec, owner.metadata.name).toMatchObject({
          automountServiceAccountToken: false,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        });
        if (file !== 'openshift.yaml') expect(spec.securityContext?.runAsUser).toBeGreaterThan(0);
        for (const { securityContext } of spec.containers) {
          expect(securityContext).toMatchObject({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
        }
      }
    });

    test('names no Secret, key or ServiceAccount that does not exist', () => {
      const secrets = new Map(
        manifests.filter(({ kind }) => kind === 'Secret').map(({ metadata, data }) => [metadata.name, data ?? {}]),
      );
      for (const { owner, spec } of podsOf(manifests)) {
        for (const { name, valueFrom } of spec.containers.flatMap(({ env }) => env ?? [])) {
          const reference = valueFrom?.secretKeyRef;
          if (reference === undefined || FOREIGN.test(reference.name)) continue;
          expect(Object.keys(secrets.get(reference.name) ?? {}), `${owner.metadata.name} ${name}`).toContain(
            reference.key,
          );
        }
        const account = spec.serviceAccountName ?? 'default';
        const accounts = manifests.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata.name);
        expect(['default', 'migrator', ...accounts], owner.metadata.name).toContain(account);
      }
    });

    test('has hooks that need nothing that is created after them', () => {
      const later = manifests.filter((manifest) => !isHook(manifest));
      const missing = podsOf(manifests.filter((manifest) => isHook(manifest) && !isTest(manifest))).flatMap(
        ({ spec }) => {
          const needed = [
            ...spec.containers.flatMap(({ env }) =>
              (env ?? []).map(({ valueFrom }) => ['Secret', valueFrom?.secretKeyRef?.name]),
            ),
            ...(spec.volumes ?? []).flatMap(({ secret, configMap }) => [
              ['Secret', secret?.secretName],
              ['ConfigMap', configMap?.name],
            ]),
            ['ServiceAccount', spec.serviceAccountName],
          ];
          return needed.filter(([kind, name]) =>
            later.some((manifest) => manifest.kind === kind && manifest.metadata.name === name),
          );
        },
      );
      expect(missing).toEqual([]);
    });

    test('selects migration and test pods in no Service, disruption budget or workload', () => {
      const passing = podsOf(manifests).filter(({ owner }) => owner.kind === 'Job' || owner.kind === 'Pod');
      const selecting = manifests.filter(({ kind, spec }) => {
        const selector = (spec?.['selector'] as { matchLabels?: Record<string, string> } | undefined) ?? {};
        if (!['Service', 'PodDisruptionBudget', 'Deployment', 'StatefulSet'].includes(kind)) return false;
        return passing.some(({ labels }) =>
          selects((selector.matchLabels ?? selector) as Record<string, string>, labels),
        );
      });
      expect(selecting.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
    });

    test('gives no process a URL with credentials in it, and no secret outside of Secrets', () => {
      const secret = /a\]\?#@b|r\]\?#@|p@ss:w|secret\]\?#@|0123456789abcdef0123456789abcdef$|a-secret-of/;
      for (const { owner, spec } of podsOf(manifests)) {
        const environment = spec.containers.flatMap(({ env }) => env ?? []);
        expect(
          environment.map(({ name }) => name).filter((name) => /^(MYSQL|REDIS)_URL$/.test(name)),
          owner.metadata.name,
        ).toEqual([]);
        expect(
          environment.map(({ value }) => value ?? '').filter((value) => secret.test(value)),
          owner.metadata.name,
        ).toEqual([]);
      }
    });

    test('lets every process exit before the kubelet kills it', () => {
      for (const { owner, spec } of podsOf(manifests).filter(({ owner: { kind } }) => kind === 'Deployment')) {
        const container = spec.containers[0];
        const env = environmentOf(manifests, container as Container);
        const sleep = container?.lifecycle?.preStop?.sleep?.seconds ?? 0;
        const drain = Number(env['DRAIN_DELAY_MS'] ?? 0) / 1000;
        const shutdown = Number(env['SHUTDOWN_TIMEOUT_MS']) / 1000;
        expect(sleep + shutdown + 5, owner.metadata.name).toBeLessThanOrEqual(spec.terminationGracePeriodSeconds ?? 30);
        expect(drain + 10, owner.metadata.name).toBeLessThanOrEqual(shutdown);
      }
    });

    test('has no hooks except the migration and the test', () => {
      const hooks = manifests.filter(isHook).flatMap(hooksOf);
      expect([...new Set(hooks)].filter((hook) => !['pre-install', 'pre-upgrade', 'test'].includes(hook))).toEqual([]);
      expect(one(manifests, 'Deployment', '-api').spec).toBeDefined();
    });
  });
});

chartSuite('the schemas that renders are compared with', () => {
  test('refuse an unknown field, a wrong type, and a duplicate name in a list', async () => {
    const manifests = await render(newestHelm(), { file: 'keda.yaml' });
    const broken = (kind: string, change: (spec: Record<string, unknown>) => void): string[] => {
      const manifest = structuredClone(one(manifests, kind, kind === 'Deployment' ? '-api' : ''));
      change(manifest.spec ?? {});
      return validate(manifest);
    };
    expect(broken('Deployment', () => {})).toEqual([]);
    expect(broken('Deployment', (spec) => Object.assign(spec, { replcas: 3 })).join()).toContain(
      '"additionalProperty":"replcas"',
    );
    expect(broken('Deployment', (spec) => Object.assign(spec, { replicas: '3' })).join()).toContain(
      '/spec/replicas must be integer',
    );
    const containerIn = (spec: Record<string, unknown>): Container =>
      (spec['template'] as { spec: PodSpec }).spec.containers[0] as Container;
    expect(broken('Deployment', (spec) => Object.assign(containerIn(spec), { livenesProbe: {} })).join()).toContain(
      'livenesProbe',
    );
    expect(broken('Deployment', (spec) => containerIn(spec).env?.push({ name: 'HOST' })).join()).toContain(
      'x-kubernetes-list-map-keys',
    );
    expect(broken('ScaledObject', (spec) => Object.assign(spec, { minReplicas: 1 })).join()).toContain('minReplicas');
    expect(broken('TriggerAuthentication', (spec) => Object.assign(spec, { secretTargetRefs: [] })).join()).toContain(
      'secretTargetRefs',
    );
  });

  test('Helm 3 and Helm 4 render the same', async () => {
    for (const file of FILES) {
      const renders = await Promise.all(
        tools.helms.map(async (helm) =>
          JSON.stringify(await render(helm, { file }), (key, value: unknown) => (key === 'data' ? undefined : value)),
        ),
      );
      expect(new Set(renders).size, file).toBe(1);
    }
  });
});

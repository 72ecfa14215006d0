import { describe, expect, onTestFinished, test } from 'vitest';
import { BUNDLED, EXTERNAL, NAMESPACE, render, type RenderOptions } from './support/helm.ts';
import { startFakeCluster, type LiveObject } from './support/kube-apiserver.ts';
import { one, podOf, podsOf, specOf, type Manifest } from './support/manifests.ts';
import { eachHelm } from './support/suite.ts';

/* The effect of an upgrade on objects in the cluster. */
eachHelm('upgrades', (helm) => {
  async function upgrade(live: LiveObject[], options: RenderOptions): Promise<Manifest[]> {
    const cluster = await startFakeCluster(live);
    onTestFinished(() => cluster.close());
    return render(helm, {
      ...options,
      args: ['--dry-run=server', '--disable-openapi-validation'],
      env: { KUBECONFIG: cluster.kubeconfig },
    });
  }

  describe('a bundled store that is switched off keeps its password, as its volume stays', () => {
    const data = {
      'jwt-secret': 'a2V5',
      'mysql-password': 'bXk=',
      'mysql-root-password': 'cm9vdA==',
      'redis-password': 'cmU=',
    };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'hb-hookbay' }, data };

    test.each([
      ['MySQL', ['redis.bundled.enabled=true', 'mysql.host=db', 'mysql.password.existingSecret=db-login']],
      ['both', EXTERNAL],
      ['the generated key of tokens', [...BUNDLED, 'auth.jwt.jwksUrl=https://id/keys']],
      [
        'both, for stores whose passwords are given',
        [
          'mysql.host=db',
          'mysql.password.value=x',
          'redis.host=cache',
          'redis.password.value=y',
          'auth.jwt.jwksUrl=https://id/keys',
        ],
      ],
    ])('%s', async (_what, set) => {
      const kept = one(await upgrade([secret], { set }), 'Secret', 'hookbay');
      expect(kept.data).toMatchObject(data);
      expect(kept.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
      const after = { ...secret, data: kept.data ?? {} };
      expect(one(await upgrade([after], { set: BUNDLED }), 'Secret', 'hookbay').data).toMatchObject(data);
    });

    test('a given password of an external store has a key of its own, which is removed with it', async () => {
      const external = ['mysql.host=db', 'mysql.password.value=x', 'redis.host=cache', 'redis.password.value=y'];
      const manifests = await upgrade([secret], { set: external });
      const { env } = podOf(manifests, 'Deployment', '-worker').container;
      const reference = (name: string): unknown =>
        env?.find((variable) => variable.name === name)?.valueFrom?.secretKeyRef;
      expect(reference('MYSQL_PASSWORD')).toEqual({ name: 'hb-hookbay', key: 'mysql-external-password' });
      expect(reference('REDIS_PASSWORD')).toEqual({ name: 'hb-hookbay', key: 'redis-external-password' });
      const { data: now = {} } = one(manifests, 'Secret', 'hookbay');
      expect(Object.keys(now).toSorted()).toEqual([
        'jwt-secret',
        'mysql-external-password',
        'mysql-password',
        'mysql-root-password',
        'redis-external-password',
        'redis-password',
      ]);
      const back = one(await upgrade([{ ...secret, data: now }], { set: BUNDLED }), 'Secret', 'hookbay').data ?? {};
      expect(Object.keys(back).toSorted()).toEqual(Object.keys(data));
    });
  });

  describe('the number of pods', () => {
    const APPLY = { manager: 'helm', operation: 'Apply', fieldsV1: { 'f:spec': { 'f:template': {} } } };
    const APPLY_WITH_REPLICAS = {
      manager: 'helm',
      operation: 'Apply',
      fieldsV1: { 'f:spec': { 'f:template': {}, 'f:replicas': {} } },
    };
    const UPDATE = {
      manager: 'helm',
      operation: 'Update',
      fieldsV1: { 'f:spec': { 'f:template': {}, 'f:replicas': {} } },
    };
    const SCALED = {
      manager: 'kube-controller-manager',
      operation: 'Update',
      subresource: 'scale',
      fieldsV1: { 'f:spec': { 'f:replicas': {} } },
    };
    const STATUS = {
      manager: 'kube-controller-manager',
      operation: 'Update',
      subresource: 'status',
      fieldsV1: { 'f:status': {} },
    };
    const AUTOSCALED = [...BUNDLED, 'api.autoscaling.enabled=true', 'worker.keda.enabled=true'];
    const replicas = async (live: number, managedFields: object[] | undefined, set: string[]): Promise<unknown[]> => {
      const deployments = ['api', 'worker'].map((role) => ({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: `hb-hookbay-${role}`, ...(managedFields && { managedFields }) },
        spec: { replicas: live },
      }));
      const manifests = await upgrade(deployments, { set });
      return ['api', 'worker'].map((role) => specOf(one(manifests, 'Deployment', `-${role}`), 'replicas'));
    };

    test('stays the same when an autoscaler is switched on: Kubernetes would set a removed number to 1', async () => {
      expect(await replicas(5, [APPLY_WITH_REPLICAS, STATUS], AUTOSCALED)).toEqual([5, 5]);
      expect(await replicas(5, [UPDATE, STATUS], AUTOSCALED)).toEqual([5, 5]);
      expect(await replicas(5, undefined, AUTOSCALED)).toEqual([5, 5]);
    });

    test('is left to the autoscaler where that owns the field by server-side apply, because a conflict would fail the upgrade', async () => {
      expect(await replicas(7, [APPLY, SCALED, STATUS], AUTOSCALED)).toEqual([undefined, undefined]);
      expect(await replicas(7, [APPLY_WITH_REPLICAS, SCALED], AUTOSCALED)).toEqual([undefined, undefined]);
      // For a Deployment that never had it the API server records no owner.
      expect(await replicas(7, [APPLY, STATUS], AUTOSCALED)).toEqual([undefined, undefined]);
    });

    test('is rendered for every three-way merge, which would otherwise remove the first value', async () => {
      expect(await replicas(7, [{ ...UPDATE, fieldsV1: APPLY.fieldsV1 }, SCALED], AUTOSCALED)).toEqual([7, 7]);
    });

    test('is that of the values without an autoscaler, and with null the number of a manual scaling, including 0', async () => {
      expect(await replicas(7, [APPLY, SCALED], BUNDLED)).toEqual([2, 2]);
      const byHand = [...BUNDLED, 'api.replicaCount=null', 'worker.replicaCount=null'];
      expect(await replicas(7, [APPLY_WITH_REPLICAS], byHand)).toEqual([7, 7]);
      expect(await replicas(0, [UPDATE], byHand)).toEqual([0, 0]);
      expect(await replicas(0, [APPLY, { ...SCALED, manager: 'kubectl' }], byHand)).toEqual([undefined, undefined]);
    });
  });

  describe("the volume of a bundled store can't be changed", () => {
    const store = (name: string, spec: object | undefined): LiveObject => ({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: `hb-hookbay-${name}` },
      spec: { ...(spec && { volumeClaimTemplates: [{ metadata: { name: 'data' }, spec }] }) },
    });
    const ofSize = (storage: string, storageClassName?: string): object => ({
      resources: { requests: { storage } },
      ...(storageClassName !== undefined && { storageClassName }),
    });

    test('the same value in another notation is no change', async () => {
      expect(
        await upgrade([store('mysql', ofSize('10240Mi')), store('redis', ofSize('8Gi'))], { set: BUNDLED }),
      ).not.toEqual([]);
      expect(
        await upgrade([store('mysql', ofSize('10Gi', 'fast'))], {
          set: [...BUNDLED, 'mysql.bundled.persistence.storageClass=fast'],
        }),
      ).not.toEqual([]);
      expect(
        await upgrade([store('redis', undefined)], { set: [...BUNDLED, 'redis.bundled.persistence.enabled=false'] }),
      ).not.toEqual([]);
    });

    test.each([
      [
        store('mysql', ofSize('10Gi')),
        ['mysql.bundled.persistence.size=20Gi'],
        /mysql\.bundled\.persistence\.size can't change from 10Gi to 20Gi .* patch pvc data-hb-hookbay-mysql-0 .* delete statefulset hb-hookbay-mysql --cascade=orphan/,
      ],
      [
        store('redis', ofSize('8Gi')),
        ['redis.bundled.persistence.storageClass=fast'],
        /redis\.bundled\.persistence\.storageClass can't change/,
      ],
      [
        store('redis', ofSize('8Gi', 'fast')),
        [],
        /redis\.bundled\.persistence\.storageClass can't change from "fast" to ""/,
      ],
      [
        store('redis', ofSize('8Gi')),
        ['redis.bundled.persistence.enabled=false'],
        /redis\.bundled\.persistence\.enabled can't change/,
      ],
      [store('redis', undefined), [], /redis\.bundled\.persistence\.enabled can't change/],
    ])('%j with %j is refused with a remedy', async (live, set, message) => {
      await expect(upgrade([live], { set: [...BUNDLED, ...set] })).rejects.toThrow(message);
    });
  });

  describe('a migration that cannot succeed', () => {
    test('ends the Job at once by its exit code, and waits inside its process for a database that starts later', async () => {
      for (const set of [BUNDLED, EXTERNAL]) {
        const manifests = await render(helm, { set });
        const { owner, container } = podOf(manifests, 'Job', '');
        expect(specOf(owner, 'podFailurePolicy')).toEqual({
          rules: [
            { action: 'FailJob', onExitCodes: { containerName: container.name, operator: 'In', values: [78] } },
            { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          ],
        });
        expect(container.env).toContainEqual({ name: 'MIGRATE_WAIT_SECONDS', value: '60' });
      }
    });

    test('shows its log in Helm', async () => {
      expect(one(await render(helm, { set: EXTERNAL }), 'Job').metadata.annotations).toMatchObject({
        'helm.sh/hook-output-log-policy': 'hook-failed',
      });
    });
  });

  test('a test that passed is removed, and does not outlive an uninstall', async () => {
    expect(one(await render(helm, { set: BUNDLED }), 'Pod', '-test').metadata.annotations).toMatchObject({
      'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
      'helm.sh/hook-output-log-policy': 'hook-succeeded,hook-failed',
    });
  });

  test('no apply differs from the stored object: no empty variables, no claim templates without kind', async () => {
    const manifests = await render(helm, { set: BUNDLED });
    const empty = podsOf(manifests).flatMap(({ spec }) =>
      spec.containers.flatMap(({ env }) => (env ?? []).filter(({ value }) => value === '')),
    );
    expect(empty).toEqual([]);
    for (const name of ['-mysql', '-redis']) {
      const [claim] = specOf(one(manifests, 'StatefulSet', name), 'volumeClaimTemplates') as object[];
      expect(claim).toMatchObject({
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        spec: { volumeMode: 'Filesystem' },
      });
    }
    expect(manifests.every(({ metadata }) => metadata.namespace === NAMESPACE)).toBe(true);
  });
});

import { createServer, type ServerResponse } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { KUBE_VERSION, NAMESPACE, RELEASE } from './helm.ts';

/** Resources of the kinds that an installation with stores of its own renders, with autoscalers. */
const RESOURCES: Record<string, [resource: string, kind: string][]> = {
  v1: [
    ['secrets', 'Secret'],
    ['services', 'Service'],
    ['pods', 'Pod'],
    ['serviceaccounts', 'ServiceAccount'],
    ['configmaps', 'ConfigMap'],
  ],
  'apps/v1': [
    ['deployments', 'Deployment'],
    ['statefulsets', 'StatefulSet'],
  ],
  'batch/v1': [['jobs', 'Job']],
  'autoscaling/v2': [['horizontalpodautoscalers', 'HorizontalPodAutoscaler']],
  'keda.sh/v1alpha1': [
    ['scaledobjects', 'ScaledObject'],
    ['triggerauthentications', 'TriggerAuthentication'],
  ],
  'policy/v1': [['poddisruptionbudgets', 'PodDisruptionBudget']],
};

export interface FakeCluster {
  /** For the environment of Helm. */
  kubeconfig: string;
  close(): void;
}

/** An object in the cluster. */
export interface LiveObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; managedFields?: object[] };
  [field: string]: unknown;
}

/** The part of a Kubernetes API that Helm's `lookup` needs, on loopback: discovery, and the objects of this release. */
export async function startFakeCluster(objects: LiveObject[]): Promise<FakeCluster> {
  const labels = { 'app.kubernetes.io/managed-by': 'Helm' };
  const annotations = { 'meta.helm.sh/release-name': RELEASE, 'meta.helm.sh/release-namespace': NAMESPACE };
  const live = Object.fromEntries(
    objects.map((object) => [
      pathOf(object),
      { ...object, metadata: { namespace: NAMESPACE, labels, annotations, ...object.metadata } },
    ]),
  );
  const server = createServer((req, res) => {
    const path = (req.url ?? '').split('?')[0] ?? '';
    const known = { ...discovery(), ...live }[path];
    answer(
      res,
      known === undefined ? 404 : 200,
      known ?? { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const folder = mkdtempSync(join(tmpdir(), 'hookbay-cluster-'));
  const kubeconfig = join(folder, 'config');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(
    kubeconfig,
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'fake',
      clusters: [{ name: 'fake', cluster: { server: address } }],
      contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'nobody' } }],
      users: [{ name: 'nobody', user: {} }],
    }),
  );
  return {
    kubeconfig,
    close() {
      server.close();
      server.closeAllConnections();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function pathOf({ apiVersion, kind, metadata }: LiveObject): string {
  const [resource = ''] = RESOURCES[apiVersion]?.find(([, known]) => known === kind) ?? [];
  return `${apiVersion === 'v1' ? '/api' : '/apis'}/${apiVersion}/namespaces/${NAMESPACE}/${resource}/${metadata.name}`;
}

function discovery(): Record<string, object> {
  const [major, minor] = KUBE_VERSION.split('.');
  const groups = Object.keys(RESOURCES).filter((version) => version !== 'v1');
  const group = (groupVersion: string): object => {
    const [name = '', number = ''] = groupVersion.split('/');
    const version = { groupVersion, version: number };
    return { name, versions: [version], preferredVersion: version };
  };
  const resources = ([groupVersion, list]: [string, [string, string][]]): [string, object] => [
    groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`,
    {
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion,
      resources: list.map(([name, kind]) => ({
        name,
        singularName: kind.toLowerCase(),
        namespaced: true,
        kind,
        verbs: ['get'],
      })),
    },
  ];
  return {
    '/version': { major, minor, gitVersion: `v${KUBE_VERSION}` },
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(group) },
    ...Object.fromEntries(Object.entries(RESOURCES).map(resources)),
  };
}

function answer(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

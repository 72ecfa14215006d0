import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { expectBalanced, startLoad } from '../support/accounting.ts';
import { startFollower } from '../support/live/follower.ts';
import { startBalancer } from '../support/balancer.ts';
import { client, mintToken } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { startRole, type RoleProcess } from '../support/processes.ts';

/** Of a container in the manifests that the chart renders. */
interface Container {
  env: { name: string; value?: string }[];
  lifecycle?: { preStop?: { sleep: { seconds: number } } };
  readinessProbe: { periodSeconds: number; failureThreshold: number };
}

/** The rendered settings of a rollout. */
interface Rollout {
  env: Record<string, string>;
  preStopMs: number;
  graceMs: number;
  readiness: { periodMs: number; failureThreshold: number };
}

const SETTINGS = ['DRAIN_DELAY_MS', 'SHUTDOWN_TIMEOUT_MS', 'JOB_LOCK_MS', 'WORKER_CONCURRENCY', 'INTAKE_MAX_BYTES'];

function rolloutOf(component: string): Rollout {
  const manifests = parseAllDocuments(readFileSync('k8s/base/hookbay.yaml', 'utf8')).map(
    (document) => document.toJS() as { kind: string; metadata: { labels: Record<string, string> }; spec: unknown },
  );
  const deployment = manifests.find(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.labels['app.kubernetes.io/component'] === component,
  );
  if (deployment === undefined) throw new Error(`there is no Deployment of ${component}`);
  const pod = (
    deployment.spec as { template: { spec: { terminationGracePeriodSeconds: number; containers: Container[] } } }
  ).template.spec;
  const container = pod.containers[0] as Container;
  const settings = container.env.filter(({ name, value }) => SETTINGS.includes(name) && value !== undefined);
  return {
    env: Object.fromEntries(settings.map(({ name, value }) => [name, value as string])),
    preStopMs: (container.lifecycle?.preStop?.sleep.seconds ?? 0) * 1_000,
    graceMs: pod.terminationGracePeriodSeconds * 1_000,
    readiness: {
      periodMs: container.readinessProbe.periodSeconds * 1_000,
      failureThreshold: container.readinessProbe.failureThreshold,
    },
  };
}

let environment: Environment;
useEnvironment((opened) => {
  environment = opened;
});

/** Ends a process as a kubelet ends a container: preStop, SIGTERM, and SIGKILL at the end of the grace period. */
async function terminate(pod: RoleProcess, { preStopMs, graceMs }: Rollout): Promise<number | string | null> {
  await new Promise((resolve) => setTimeout(resolve, preStopMs));
  const kill = setTimeout(() => pod.child.kill('SIGKILL'), graceMs - preStopMs);
  const code = await pod.end('SIGTERM');
  clearTimeout(kill);
  return code;
}

test('a rollout with the settings of the chart, two API and two worker pods under load: no request fails, no capture is lost, sockets reconnect', async () => {
  const rollouts = { api: rolloutOf('api'), worker: rolloutOf('worker') };
  expect(rollouts.api.env).toMatchObject({
    DRAIN_DELAY_MS: expect.any(String),
    SHUTDOWN_TIMEOUT_MS: expect.any(String),
  });
  const start = (role: 'api' | 'worker'): Promise<RoleProcess> =>
    startRole(role, { ...environment.env, ...rollouts[role].env });
  // A balancer of the worst case: only the readiness probe tells it about a stopping pod.
  const balancer = closing(await startBalancer(rollouts.api.readiness), (open) => open.close());
  const pods = {
    api: await Promise.all([start('api'), start('api')]),
    worker: await Promise.all([start('worker'), start('worker')]),
  };
  closing(pods, async ({ api, worker }) => void (await Promise.all([...api, ...worker].map((pod) => pod.end()))));
  for (const pod of pods.api) balancer.backends.add(pod);
  const url = `http://127.0.0.1:${balancer.port}`;
  await eventually(async () => (await fetch(`${url}/openapi.json`)).ok);

  const token = mintToken('ann', { plan: 'enterprise' });
  const { id } = (await client(url, token).create()).body;
  const followers = Array.from({ length: 40 }, () =>
    closing(startFollower(url, token, [id]), (follower) => follower.close()),
  );
  await eventually(() => followers.every((follower) => follower.isConnected()));
  const load = startLoad({ url: () => `${url}/h/${id}`, connections: 8, pauseMs: 20 });
  for (const index of [0, 1]) {
    // maxSurge 1, maxUnavailable 0: the new pod is in service before the old one stops.
    const replace = async (role: 'api' | 'worker'): Promise<void> => {
      const old = pods[role][index] as RoleProcess;
      const fresh = await start(role);
      pods[role][index] = fresh;
      if (role === 'api') {
        balancer.backends.add(fresh);
        await new Promise((resolve) => setTimeout(resolve, rollouts.api.readiness.periodMs));
      }
      expect(await terminate(old, rollouts[role])).toBe(0);
      if (role === 'api') balancer.backends.delete(old);
    };
    await Promise.all([replace('api'), replace('worker')]);
  }
  await load.stop();
  await environment.drained();
  expect(load.outcomes.filter(({ kind }) => kind !== 'receipt')).toEqual([]);
  const { rows } = await expectBalanced(environment.db, id, load.outcomes);
  expect(rows).toBe(load.outcomes.length);
  await eventually(() => followers.every((follower) => follower.isConnected() && follower.seen.get(id)?.size === rows));
  // Each was on a pod that stopped.
  expect(Math.min(...followers.map((follower) => follower.connects))).toBeGreaterThan(1);
});

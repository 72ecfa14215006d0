import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { makeAuthority, NO_OPENSSL } from '../support/certificates.ts';
import { captureOne, client, mintToken } from '../support/client.ts';
import { closing, eventually, openEnvironment } from '../support/environment.ts';
import { startRole } from '../support/processes.ts';
import { startCluster } from '../support/redis-groups.ts';

test.skipIf(NO_OPENSSL)('a Redis Cluster that speaks TLS is verified, and works', async () => {
  const dataDir = closing(mkdtempSync(join(tmpdir(), 'hookbay-cluster-tls-')), (folder) =>
    rmSync(folder, { recursive: true, force: true }),
  );
  const authority = makeAuthority();
  authority.issue('IP:127.0.0.1');
  const group = closing(await startCluster(dataDir, { certificates: dirname(authority.path) }), (open) => open.stop());
  // Its own connections to Redis are not used: this process does not trust the authority.
  const { env } = closing(await openEnvironment({ ...group, redis: { ...group.redis, shards: 2 } }), (open) =>
    open.close(),
  );
  const trusting = { ...env, NODE_EXTRA_CA_CERTS: authority.path };
  expect(env).toMatchObject({ REDIS_TLS: 'true' });
  const start = async (role: 'api' | 'worker', settings: Record<string, string>, untilReady = true) =>
    closing(await startRole(role, settings, { untilReady }), async (open) => void (await open.end()));
  const doubting = await start('api', env, false);
  await eventually(() => doubting.output().includes('SELF_SIGNED_CERT_IN_CHAIN'));
  expect((await fetch(`http://127.0.0.1:${doubting.internalPort}/readyz`)).status).toBe(503);
  const [api] = await Promise.all([start('api', trusting), start('worker', trusting)]);
  const owner = client(api.url, mintToken('ann'));
  const { id } = (await owner.create()).body;
  const { id: entry } = await captureOne(api.url, id, { body: 'x' });
  expect((await owner.entry(entry)).status).toBe(200);
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { makeAuthority, NO_OPENSSL } from '../support/certificates.ts';
import { captureOne, client, mintToken } from '../support/client.ts';
import { closing, eventually, openEnvironment } from '../support/environment.ts';
import { startRole } from '../support/processes.ts';
import { startSentinelGroup, type Member } from '../support/redis-groups.ts';

test.skipIf(NO_OPENSSL)('Sentinels and servers that speak TLS are verified, and a failover works', async () => {
  const dataDir = closing(mkdtempSync(join(tmpdir(), 'hookbay-sentinel-tls-')), (folder) =>
    rmSync(folder, { recursive: true, force: true }),
  );
  const authority = makeAuthority();
  authority.issue('IP:127.0.0.1');
  const group = closing(await startSentinelGroup(dataDir, { certificates: dirname(authority.path) }), (open) =>
    open.stop(),
  );
  // Its own connections to Redis are not used: this process does not trust the authority.
  const { env } = closing(await openEnvironment(group), (open) => open.close());
  const trusting = { ...env, NODE_EXTRA_CA_CERTS: authority.path, JOB_LOCK_MS: '2000' };
  expect(env).toMatchObject({ REDIS_TLS: 'true', REDIS_SENTINEL_NAME: 'mymaster' });
  const start = async (role: 'api' | 'worker', settings: Record<string, string>, untilReady = true) =>
    closing(await startRole(role, settings, { untilReady }), async (open) => void (await open.end()));
  const doubting = await start('api', env, false);
  await eventually(() => doubting.output().includes('SELF_SIGNED_CERT_IN_CHAIN'));
  expect((await fetch(`http://127.0.0.1:${doubting.internalPort}/readyz`)).status).toBe(503);
  const misnamed = await start('api', { ...trusting, REDIS_SENTINEL_NAME: 'other' }, false);
  await eventually(() => misnamed.output().includes('No such master with that name'));

  const [api] = await Promise.all([start('api', trusting), start('worker', trusting)]);
  const owner = client(api.url, mintToken('ann'));
  const { id } = (await owner.create()).body;
  const { id: entry } = await captureOne(api.url, id, { body: 'x' });
  expect((await owner.entry(entry)).status).toBe(200);
  const [master, replica] = group.members as [Member, Member];
  await master.kill('SIGKILL');
  await eventually(async () => (await replica.admin.info('replication')).includes('role:master'));
  let next = '';
  await eventually(async () => {
    const answer = await fetch(`${api.url}/h/${id}`, { method: 'POST', body: 'y' });
    if (answer.status === 200) next = ((await answer.json()) as { id: string }).id;
    return answer.status === 200;
  });
  expect((await owner.entry(next)).status).toBe(200);
});

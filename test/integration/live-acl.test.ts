import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { captureOne, client, mintToken } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { connectClient, startClient } from '../support/live/clients.ts';
import { startRole } from '../support/processes.ts';

/* A Redis that accepts connections and forbids some commands: an older one, a managed one, or one with an ACL. */

let environment: Environment;
useEnvironment((opened) => {
  environment = opened;
});

/** A user of Redis with all rights except those that the rules remove. */
async function redisUser(...rules: string[]): Promise<{
  env: { REDIS_USERNAME: string; REDIS_PASSWORD: string };
  change: (...more: string[]) => Promise<unknown>;
}> {
  const name = `user-${randomBytes(6).toString('hex')}`;
  const change = (...more: string[]): Promise<unknown> => environment.redis.call('ACL', 'SETUSER', name, ...more);
  await change('on', '>secret', '~*', '&*', '+@all', ...rules);
  closing(name, async () => void (await environment.redis.call('ACL', 'DELUSER', name)));
  return { env: { REDIS_USERNAME: name, REDIS_PASSWORD: 'secret' }, change };
}

test('a worker that may neither subscribe nor publish stores its captures', async () => {
  const { env } = await redisUser('-ssubscribe', '-sunsubscribe', '-pubsub', '-spublish');
  const worker = await startRole('worker', { ...environment.env, ...env });
  closing(worker, async (open) => void (await open.end()));
  const { url } = await environment.startApi();
  const id = (await client(url, mintToken('ann')).create()).body.id;
  for (let i = 0; i < 5; i += 1) await captureOne(url, id);
  await environment.drained();
  expect((await client(url, mintToken('ann')).list(id)).body.total).toBe(5);
  expect(await environment.queue.getFailedCount()).toBe(0);
  await eventually(() => worker.log.some(({ msg }) => /not published as live events.*ACL/.test(String(msg))));
  expect(await worker.end()).toBe(0);
});

test('an API that may not subscribe refuses sockets until it may', async () => {
  const { env, change } = await redisUser('-ssubscribe');
  const { url } = await environment.startApi(env);
  await environment.startWorker();
  const token = mintToken('bob');
  const id = (await client(url, token).create()).body.id;
  const viewer = closing(startClient(url, token), ({ socket }) => void socket.disconnect());
  await eventually(() => viewer.refusals.length > 5);
  expect(viewer.socket.connected).toBe(false);
  await change('+ssubscribe');
  await eventually(() => viewer.socket.connected);
  await captureOne(url, id);
  await eventually(() => viewer.events.length === 1);
  // And sockets are closed again as soon as the right is removed.
  await change('-ssubscribe');
  await eventually(() => viewer.closes.length === 1);
  await expect(connectClient(url, token, { reconnection: false })).rejects.toThrow();
});

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { captureOne, client, mintToken } from '../support/client.ts';
import { closing, eventually, openEnvironment, type Environment } from '../support/environment.ts';
import { openEvents } from '../support/event-source.ts';
import { connectClient } from '../support/live/clients.ts';

const USER = 'acl-user';
const PASSWORD = 'acl-user-password';

let env: Environment;
beforeAll(async () => {
  env = await openEnvironment();
});
afterAll(async () => {
  await env.redis.call('ACL', 'DELUSER', USER);
  await env.close();
});

/** The rule of the page for operators, for this environment's prefix; without the names and the password, which are the reader's own. */
function documentedRule(): string[] {
  const [, rule = ''] = /^ACL SETUSER hookbay on '>[^']*' (.*)$/m.exec(readFileSync('src/ops/README.md', 'utf8')) ?? [];
  return rule.replaceAll("'", '').replaceAll('hookbay', env.config.redis.prefix).split(' ');
}

test('a Redis user with the documented rule can do all that API and worker do, and nothing beside', async () => {
  await env.redis.call('ACL', 'SETUSER', USER, 'reset', 'on', `>${PASSWORD}`, ...documentedRule());
  await env.redis.call('ACL', 'LOG', 'RESET');
  const login = {
    REDIS_USERNAME: USER,
    REDIS_PASSWORD: PASSWORD,
    DURABILITY: 'strict',
    API_RATE_LIMIT_PER_MINUTE: '1000',
  };
  const api = await env.startApi(login);
  const worker = await env.startWorker(login);
  const token = mintToken('acl');
  const user = client(api.url, token);
  const { id } = (await user.create({ alias: 'acl-alias' })).body;
  const live = await connectClient(api.url, token);
  const stream = closing(await openEvents(`${api.url}/api/endpoints/${id}/events`, token), (open) => open.close());
  const receipt = await captureOne(api.url, 'acl-alias', { body: 'small' });
  const large = await captureOne(api.url, id, { body: 'x'.repeat(700_000) });
  await eventually(() => live.events.length === 2);
  await eventually(() => stream.seqs().length === 2);
  for (const one of [receipt, large]) expect((await user.entry(one.id)).status).toBe(200);
  expect((await user.removeEndpoint(id)).status).toBe(200);
  await eventually(() => stream.endReason() === 'deleted');
  await expect(
    fetch(`http://127.0.0.1:${worker.internalPort}/metrics`).then((answer) => answer.text()),
  ).resolves.toContain('hookbay_queue_jobs{queue="capture",state="waiting"} 0');
  await env.drained();
  await worker.stop();
  await api.stop();

  const log = (await env.redis.call('ACL', 'LOG')) as unknown[][];
  expect(log.filter((entry) => entry.includes(USER))).toEqual([]);
  for (const [command, ...args] of [
    ['GET', 'others:key'],
    ['FLUSHALL'],
    ['CONFIG', 'SET', 'maxmemory', '0'],
    ['PUBLISH', 'others', 'x'],
    ['KEYS', '*'],
  ] as const) {
    expect(String(await env.redis.call('ACL', 'DRYRUN', USER, command, ...args)), command).toMatch(/no permissions/);
  }
});

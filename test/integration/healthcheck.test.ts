import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { createOpsServer } from '../../src/ops/server.ts';
import { listen } from '../../src/ops/listen.ts';
import { freePort } from '../../src/local/private-server.ts';
import { closing } from '../support/environment.ts';

/** With the port as the only setting: a health check needs no database settings. */
async function healthcheck(port: number, ...args: string[]): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(process.execPath, ['src/main.ts', 'healthcheck', ...args], {
    env: { PATH: process.env['PATH'], INTERNAL_PORT: String(port) },
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, stderr };
}

test('its exit code tells whether a process is alive, and with --ready whether it is ready', async () => {
  let reasons = ['starting'];
  const server = closing(
    createOpsServer({ notReady: () => reasons, scrape: async () => '' }),
    (open) => void open.close(),
  );
  const port = await listen(server, '127.0.0.1', 0);
  expect(await healthcheck(port)).toEqual({ code: 0, stderr: '' });
  expect(await healthcheck(port, '--ready')).toEqual({
    code: 1,
    stderr: expect.stringMatching(/answers 503: .*starting/),
  });
  reasons = [];
  expect(await healthcheck(port, '--ready')).toEqual({ code: 0, stderr: '' });
});

test('a process that has exited or does not answer is not alive', async () => {
  expect(await healthcheck(await freePort())).toEqual({
    code: 1,
    stderr: expect.stringContaining('does not answer (ECONNREFUSED)'),
  });
  const mute = closing(createServer(), (server) => void server.close());
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  expect(await healthcheck((mute.address() as { port: number }).port)).toEqual({
    code: 1,
    stderr: expect.stringContaining('does not answer (ETIMEDOUT)'),
  });
});

test('takes no other arguments', async () => {
  expect(await healthcheck(1, '--live')).toEqual({ code: 1, stderr: 'usage: healthcheck [--ready]\n' });
});

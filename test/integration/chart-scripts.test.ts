import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Worker } from 'bullmq';
import { expect, onTestFinished, test } from 'vitest';
import { redisKeys } from '../../src/redis/keys.ts';
import { closing, eventually, JWT_SECRET, useEnvironment, type Environment } from '../support/environment.ts';
import { mintToken } from '../support/client.ts';
import { endProcess } from '../support/processes.ts';

/* The scripts and probes of the chart's pods, run here. */
const SCRIPT = readFileSync('charts/hookbay/files/capture-test.mjs', 'utf8');

let environment: Environment;
useEnvironment((opened) => {
  environment = opened;
});

async function runHelmTest(env: Record<string, string>): Promise<string> {
  return (await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', SCRIPT], { env })).stdout;
}

test('the script of `helm test` creates, captures, reads back and deletes, with a secret or with a token', async () => {
  const api = await environment.startApi();
  const worker = await environment.startWorker();
  onTestFinished(() => worker.stop());
  expect(await runHelmTest({ API_URL: api.url, JWT_SECRET, JWT_ISSUER: '', JWT_AUDIENCE: '' })).toMatch(
    /created endpoint \S+\ncaptured as \S+\nread back, to the byte\ndeleted\n/,
  );
  expect(await runHelmTest({ API_URL: api.url, TOKEN: mintToken('tester') })).toContain('read back, to the byte');
  const split = await environment.startApi({ CAPTURE_BASE_URL: 'https://in.example.net' });
  expect(await runHelmTest({ API_URL: split.url, JWT_SECRET })).toContain('read back, to the byte');
  expect(await environment.db.knex('endpoints').pluck('id')).toEqual([]);
});

test('the script of `helm test` fails, and prints no key, when the API has another one', async () => {
  const api = await environment.startApi();
  const wrong = 'w'.repeat(40);
  const failure = await runHelmTest({ API_URL: api.url, JWT_SECRET: wrong }).catch(
    (error: unknown) => error as { code: number; stderr: string },
  );
  expect(failure).toMatchObject({ code: 1 });
  expect((failure as { stderr: string }).stderr).toContain('POST /api/endpoints answered 401');
  expect((failure as { stderr: string }).stderr).not.toContain(wrong);
});

test.each(['charts/hookbay/README.md', 'src/ops/README.md'])(
  'the runbook in %s has failed jobs tried again',
  async (page) => {
    const { redis, queue, config } = environment;
    const [, command = ''] = /node -e "\n([^"]*)"/.exec(readFileSync(page, 'utf8')) ?? [];
    const worker = new Worker('capture', () => Promise.reject(new Error('no')), {
      connection: redis,
      prefix: redisKeys(config.redis.prefix).queues,
    });
    await queue.add('batch', {} as never, { attempts: 1 });
    await eventually(async () => (await queue.getFailedCount()) === 1);
    await worker.close();
    const { host, port, password } = config.redis;
    const env = { ...environment.env, REDIS_DB: '0', REDIS_URL: `redis://:${password}@${host}:${port}` };
    await promisify(execFile)(process.execPath, ['-e', command.replace('{hookbay}', `{${config.redis.prefix}}`)], {
      env,
    });
    expect([await queue.getFailedCount(), await queue.getWaitingCount()]).toEqual([0, 1]);
    await queue.drain();
  },
);

test.each(['api', 'worker'])(
  'without Redis and database %s is alive, and not ready: the probes restart nothing',
  async (role) => {
    const child = spawn(process.execPath, ['src/main.ts', role], {
      env: {
        ...process.env,
        ...environment.env,
        MYSQL_PORT: '1',
        REDIS_PORT: '1',
        PORT: '0',
        INTERNAL_PORT: '0',
        LOG_LEVEL: 'info',
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    closing(child, async () => void (await endProcess(child, 'SIGKILL')));
    const port = await new Promise<number>((resolve) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        const { internalPort } = JSON.parse(line) as { internalPort?: number };
        if (internalPort !== undefined) resolve(internalPort);
      });
    });
    for (let round = 0; round < 5; round += 1) {
      expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);
      expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503);
    }
  },
);

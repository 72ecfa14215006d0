import { createHmac, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import type { VerificationResult } from '../../src/domain/signature/verify.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture } from '../support/captures.ts';
import { captureOne, client, mintToken, send, type Answer, type Client } from '../support/client.ts';
import { useEnvironment, type Environment } from '../support/environment.ts';
import { longestPause } from '../support/pause.ts';

/*
 * No input of a signature check may delay captures. The defects blocked the event loop for seconds; the bounds here
 * leave room for a busy machine.
 */
const MAX_PAUSE_MS = 1_500;
const MIB = 1024 * 1024;

let environment: Environment;
let url: string;
let owner: Client;
let endpointId: string;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url } = await environment.startApi({ VERIFY_RATE_LIMIT_PER_MINUTE: '0' }));
  owner = client(url, mintToken('ann', { plan: 'enterprise' }));
  endpointId = (await owner.create()).body.id;
});

type Verified = Answer<VerificationResult & { error?: string }>;

const post = (body: string): Promise<Verified> =>
  send(`${url}/api/verify-signature`, { method: 'POST', headers: ['Content-Type', 'application/json'], body });

async function postMeasured(body: string): Promise<Verified> {
  let answer: Verified | undefined;
  const pause = await longestPause(async () => (answer = await post(body)));
  if (process.env['SHOW_PAUSES']) process.stdout.write(`${pause.toFixed(1)} ms: ${body.slice(0, 60)}\n`);
  expect(pause).toBeLessThan(MAX_PAUSE_MS);
  return answer as Verified;
}

const INPUT = { provider: 'stripe', payload: 'p', signature: 't=1,v1=2', secret: 's', timestamp: '1' };
const fill = (part: string, length: number): string => part.repeat(Math.floor(length / part.length));

describe('POST /api/verify-signature', () => {
  test.each([
    ['signature', ',v1='],
    ['signature', ','],
    ['signature', '='],
    ['signature', 'x'],
    ['secret', ' x'],
    ['timestamp', '1'],
  ])('400 at once for a %s of 6 MB of %j, and the answer names the bound [Verify: limits]', async (field, part) => {
    for (const provider of ['stripe', 'github', 'shopify', 'slack']) {
      const answer = await postMeasured(JSON.stringify({ ...INPUT, provider, [field]: fill(part, 6_000_000) }));
      expect([answer.status, answer.body]).toEqual([400, { error: `${field}: must have at most 4096 characters` }]);
    }
  });

  test('4,096 characters are read', async () => {
    const answer = await post(
      JSON.stringify({ ...INPUT, signature: 'x'.repeat(4096), secret: 'x'.repeat(4096), timestamp: 'x'.repeat(4096) }),
    );
    expect([answer.status, answer.body.valid]).toEqual([200, false]);
  });

  test.each([
    ['nested', '[', ']'],
    ['empty lists', '[],', ''],
    ['empty objects', '{},', ''],
    ['strings', '"",', ''],
    ['numbers', '1.1,', ''],
  ])('400 for 6 MB of JSON outside the payload: %s', async (_name, open, close) => {
    const count = Math.floor(6_000_000 / (open.length + close.length));
    const list = `[${open.repeat(count)}0${close.repeat(count)}]`;
    const answer = await postMeasured(`{"provider":"github","payload":"","signature":"","secret":"","x":${list}}`);
    expect([answer.status, answer.body]).toEqual([400, { error: expect.stringContaining('16384') }]);
  });

  test('unknown fields and white space are ignored, up to the bound', async () => {
    const answer = await post(JSON.stringify({ ...INPUT, provider: 'shopify', x: [1, { y: '"\\' }] }, null, 100));
    expect(answer.status).toBe(200);
  });

  test('a compressed body is bounded by its decompressed size', async () => {
    const headers = ['Content-Type', 'application/json', 'Content-Encoding', 'gzip'];
    const zipped = (body: string): Promise<Verified> =>
      send(`${url}/api/verify-signature`, { method: 'POST', headers, body: gzipSync(body) });
    expect((await zipped(JSON.stringify(INPUT))).status).toBe(200);
    expect((await zipped(`[${fill('[],', 6_000_000)}0]`)).status).toBe(400);
    expect((await zipped(JSON.stringify({ ...INPUT, payload: 'x'.repeat(50 * MIB) }))).status).toBe(413);
  });

  test.each([
    ['nested lists', `${'['.repeat(MIB / 2)}${']'.repeat(MIB / 2)}`],
    ['many names', `{${Array.from({ length: 80_000 }, (_, i) => `"${i.toString(36)}":0`).join(',')}}`],
    ['line breaks', fill('\r\n', MIB)],
    ['line feeds', fill('\n', MIB)],
    ['white space around one letter', `${fill(' ', MIB / 2)}x${fill(' \u00a0', MIB / 4)}`],
    ['NUL', '\0'.repeat(MIB)],
  ])('the diagnosis of a payload of 1 MiB delays nothing: %s', async (_name, payload) => {
    const answer = await postMeasured(
      JSON.stringify({ provider: 'github', payload, signature: `sha256=${'0'.repeat(64)}`, secret: ' s ' }),
    );
    expect(answer.body).toMatchObject({
      valid: false,
      details: expect.stringMatching(
        /does not match.*Only payloads of up to 131072 bytes are checked for usual mistakes\.$/,
      ),
    });
  });
});

describe('POST /api/requests/:id/verify', () => {
  const verify = (id: string, input: unknown): Promise<Verified> =>
    owner.call('POST', `/api/requests/${id}/verify`, input);

  test('bounds the secret and the stored signature', async () => {
    const { id } = await captureOne(url, endpointId, { headers: ['Stripe-Signature', fill(',v1=', 12_000)] });
    expect(await verify(id, { secret: 'x'.repeat(4097) })).toMatchObject({
      status: 400,
      body: { error: 'secret: must have at most 4096 characters' },
    });
    const answer = await verify(id, { secret: 's' });
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        provider: 'stripe',
        valid: false,
        expected: '',
        actual: fill(',v1=', 12_000),
        details: expect.stringMatching(/has 12000 characters.*4096/),
      },
    ]);
  });

  test('a body of 25 MiB is checked in turns, its diagnosis too', async () => {
    const body = Buffer.concat([randomBytes(MIB), Buffer.alloc(24 * MIB, '\n')]);
    const signature = `sha256=${createHmac('sha256', 'secret').update(body).digest('hex')}`;
    const capture = makeCapture(endpointId, { userId: 'ann', body, rawHeaders: ['X-Hub-Signature-256', signature] });
    await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-03-01', captures: [capture] }]);
    const { id } = capture;
    expect((await verify(id, { secret: 'secret' })).body).toMatchObject({ valid: true, expected: signature });
    let answer: Verified | undefined;
    const pause = await longestPause(async () => (answer = await verify(id, { secret: ' other ' })));
    if (process.env['SHOW_PAUSES']) process.stdout.write(`${pause.toFixed(1)} ms: 25 MiB\n`);
    expect(answer?.body).toMatchObject({
      valid: false,
      details: expect.stringContaining('Only payloads of up to 131072 bytes are checked'),
    });
    expect(pause).toBeLessThan(MAX_PAUSE_MS);
  });
});

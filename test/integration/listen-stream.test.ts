import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { follow, type Delivery } from '../../src/listen/follow.ts';
import { readOptions } from '../../src/listen/options.ts';
import { closing, eventually } from '../support/environment.ts';

/* How the stream is followed when it breaks, by servers with faults. */

const ENDPOINT = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

function eventOf(seq: number, body = ''): string {
  const entry = { id: ENDPOINT, seq, method: 'POST', target: `/h/x`, raw_headers: [], body, body_encoding: 'utf8' };
  return `id: ${seq}\nevent: request\ndata: ${JSON.stringify({ ...entry, size: body.length })}\n\n`;
}

/** A stream whose connections do, in turn, what `turns` say; the last one again and again. */
async function faultyServer(...turns: ((res: ServerResponse, req: IncomingMessage) => void)[]) {
  const afters: string[] = [];
  const server = createServer((req, res) => {
    afters.push(new URL(req.url ?? '', 'http://x').searchParams.get('after') ?? '');
    res.setHeader('Content-Type', 'text/event-stream');
    turns[Math.min(afters.length, turns.length) - 1]?.(res, req);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing(server, (open) => {
    open.closeAllConnections();
    open.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, afters };
}

function followed(url: string, silenceMs = 30_000) {
  const stop = closing(new AbortController(), (controller) => controller.abort());
  const options = readOptions(['1', '--endpoint', 'x', '--url', url, '--token', 'x'], {});
  if (options === undefined) throw new Error('no options');
  const said: string[] = [];
  const say = (line: string): void => void said.push(line);
  const deliveries = follow({ options, stopping: stop.signal, cutting: stop.signal, silenceMs, say }, ENDPOINT, 0);
  return { deliveries, said };
}

async function take(deliveries: AsyncGenerator<Delivery>, count: number): Promise<number[]> {
  const seqs: number[] = [];
  while (seqs.length < count) seqs.push(((await deliveries.next()).value as Delivery).seq);
  return seqs;
}

test('a connection that breaks within an event goes on after the last whole one, and nothing comes twice', async () => {
  const { url, afters } = await faultyServer(
    (res) => res.write(eventOf(1) + eventOf(2) + eventOf(3).slice(0, 60), () => res.destroy()),
    (res) => void res.end(`${eventOf(2)}${eventOf(3)}event: end\ndata: {"reason":"restarting"}\n\n`),
    (res) => void res.writeHead(503, { 'Content-Type': 'application/json' }).end('{"error":"later"}'),
    (res) => void res.write(`id: 8\nevent: position\ndata: {"seq":8}\n\nevent: more\nid: 9\ndata: {}\n\n`),
    (res) => void res.write(eventOf(10)),
  );
  const { deliveries, said } = followed(url);
  expect(await take(deliveries, 4)).toEqual([1, 2, 3, 10]);
  expect(afters).toEqual(['0', '2', '3', '3', '9']);
  expect(said.join('\n')).toMatch(/\(.*\); connecting again\n.*\(restarting\); .*\n.*\(Hookbay answers 503: later\); /);
  expect(said).toHaveLength(3);
});

test('a connection on which nothing comes any more is made anew', async () => {
  const { url, afters } = await faultyServer(
    (res) => void res.write(eventOf(1)),
    () => {},
    (res) => void res.write(eventOf(2)),
  );
  const { deliveries, said } = followed(url, 500);
  expect(await take(deliveries, 2)).toEqual([1, 2]);
  expect(afters).toEqual(['0', '1', '1']);
  expect(said).toEqual(Array(2).fill('The connection to Hookbay was lost (nothing came for 0.5 s); connecting again'));
});

test('a flood is not read ahead of what is forwarded', async () => {
  const [body, limit] = ['x'.repeat(64 * 1024), 256 * 1024 * 1024];
  let [written, lastAt] = [0, 0];
  const { url } = await faultyServer((res) => {
    const more = (): void => {
      for (let room = true; room && written < limit;) {
        room = res.write(eventOf((written += body.length), body));
        lastAt = performance.now();
      }
    };
    res.on('drain', more);
    more();
  });
  const { deliveries } = followed(url);
  await take(deliveries, 5);
  // A slow machine can only make it look better than it is, never worse.
  await eventually(() => written >= limit || performance.now() - lastAt > 1_000);
  expect(written).toBeLessThan(limit / 4);
  await take(deliveries, 5);
});

test.each([
  ['an event without end', (res: ServerResponse) => void res.write(`data: ${'x'.repeat(5_000_000)}`), 'too long'],
  [
    'an entry without raw headers',
    (res: ServerResponse) => void res.write('event: request\ndata: {"seq":1}\n\n'),
    'version',
  ],
  [
    'another server',
    (res: ServerResponse) => void res.setHeader('Content-Type', 'text/html').end('<p>'),
    'like Hookbay',
  ],
  ['a redirect', (res: ServerResponse) => void res.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end(), '302'],
])('%s ends it', async (_name, turn, message) => {
  const { url, afters } = await faultyServer(turn);
  await expect(followed(url).deliveries.next()).rejects.toThrow(message);
  expect(afters).toHaveLength(1);
});

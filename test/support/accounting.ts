import { createHash, randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { expect } from 'vitest';
import { bytesToId, idToBytes } from '../../src/domain/ids.ts';
import type { Database } from '../../src/store/database.ts';

/** The outcome of one request for its sender: a receipt, a refusal, or unknown. */
interface Outcome {
  /** Number of the request, also in its header and body. */
  n: number;
  kind: 'receipt' | 'refused' | 'unknown';
  status?: number;
  id?: string;
  hash: string;
  ms: number;
}

export interface Load {
  outcomes: Outcome[];
  /** Stops sending and resolves when every request has its outcome. */
  stop(): Promise<void>;
}

export interface LoadOptions {
  /** The address of the next request; called for each. */
  url: () => string;
  connections: number;
  bodyBytes?: number;
  /** Pause of a connection after each outcome, in milliseconds. */
  pauseMs?: number;
}

/** Sends numbered webhooks without end and records each outcome; sends none twice. */
export function startLoad({ url, connections, bodyBytes = 1024, pauseMs = 0 }: LoadOptions): Load {
  const outcomes: Outcome[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const filler = randomBytes(bodyBytes).toString('base64').slice(0, bodyBytes);
  let next = 0;
  let stopped = false;

  async function connection(): Promise<void> {
    while (!stopped) {
      const n = (next += 1);
      const body = `${n}:${filler}`;
      const start = performance.now();
      const outcome = await sendOne(agent, url(), n, body);
      outcomes.push({
        n,
        hash: createHash('sha256').update(body).digest('hex'),
        ms: performance.now() - start,
        ...outcome,
      });
      if (pauseMs > 0 || outcome.kind !== 'receipt')
        await new Promise((resolve) => setTimeout(resolve, Math.max(pauseMs, outcome.kind === 'receipt' ? 0 : 20)));
    }
  }

  const running = Array.from({ length: connections }, connection);
  return {
    outcomes,
    async stop() {
      stopped = true;
      await Promise.all(running);
      agent.destroy();
    },
  };
}

function sendOne(agent: Agent, url: string, n: number, body: string): Promise<Pick<Outcome, 'kind' | 'status' | 'id'>> {
  return new Promise((resolve) => {
    const headers = { 'X-Number': String(n), 'Content-Length': Buffer.byteLength(body) };
    const sent = request(url, { method: 'POST', agent, headers, timeout: 30_000 });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve({ kind: 'unknown' }));
    sent.on('response', (response) => {
      const status = response.statusCode ?? 0;
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('close', () => resolve(response.complete ? classify(status, text) : { kind: 'unknown', status }));
    });
    sent.end(body);
  });
}

/** A 503 promises nothing: Redis may have stored the batch before it stopped answering. */
function classify(status: number, text: string): Pick<Outcome, 'kind' | 'status' | 'id'> {
  if (status === 200) return { kind: 'receipt', status, id: (JSON.parse(text) as { id: string }).id };
  return { kind: status === 503 ? 'unknown' : 'refused', status };
}

/**
 * Checks that every receipt is exactly one row with the same id and body, that no refusal is a row, that no row is
 * duplicated or unknown, that the sequence has no gap, and that all counters equal the rows.
 */
export async function expectBalanced(
  db: Database,
  endpointId: string,
  outcomes: readonly Outcome[],
): Promise<{ receipts: number; rows: number; unknown: number }> {
  const rows = await db
    .knex('requests')
    .where({ endpoint_id: idToBytes(endpointId) })
    .orderBy('seq')
    .select<{ id: Buffer; seq: number; raw_headers: string; body: Buffer }[]>('id', 'seq', 'raw_headers', 'body');
  const byNumber = new Map<number, { id: string; hash: string }>();
  for (const row of rows) {
    const headers = JSON.parse(row.raw_headers) as string[];
    const n = Number(headers[headers.indexOf('X-Number') + 1]);
    expect(byNumber.has(n), `request ${n} is stored twice`).toBe(false);
    byNumber.set(n, { id: bytesToId(row.id), hash: createHash('sha256').update(row.body).digest('hex') });
  }
  const receipts = outcomes.filter(({ kind }) => kind === 'receipt');
  const lost = receipts.filter(({ n, id, hash }) => byNumber.get(n)?.id !== id || byNumber.get(n)?.hash !== hash);
  expect(lost, 'receipts without their row').toEqual([]);
  const phantoms = outcomes.filter(({ n, kind }) => kind === 'refused' && byNumber.has(n));
  expect(phantoms, 'refused requests that were stored').toEqual([]);
  const known = new Set(outcomes.map(({ n }) => n));
  expect(
    [...byNumber.keys()].filter((n) => !known.has(n)),
    'rows that were never sent',
  ).toEqual([]);

  expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, i) => i + 1));
  const endpoint = await db
    .knex('endpoints')
    .where({ id: idToBytes(endpointId) })
    .first('request_count', 'stored_count', 'user_id');
  expect(endpoint).toMatchObject({ request_count: rows.length, stored_count: rows.length });
  const [usage] = await db
    .knex('daily_usage')
    .where({ user_id: endpoint.user_id })
    .sum<{ n: string }[]>({ n: 'accepted' });
  expect(Number(usage?.n)).toBe(rows.length);
  return {
    receipts: receipts.length,
    rows: rows.length,
    unknown: outcomes.filter(({ kind }) => kind === 'unknown').length,
  };
}

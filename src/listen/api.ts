import { setTimeout as sleep } from 'node:timers/promises';
import type { EndpointRecord } from '../domain/answers.ts';
import type { Options } from './options.ts';
import { brief, ListenError } from './text.ts';

/** An answer that a repetition does not change. */
export class ApiRefusal extends ListenError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** An answer that asks to come back later. */
export class ApiBusy extends Error {
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Longer than a page of 1,000 endpoints. */
const MAX_JSON_BYTES = 4 * 1024 * 1024;
const MAX_PAGES = 100;
const MAX_RETRY_AFTER_SECONDS = 60;

const RECONNECT_MS = [0, 1_000, 2_000, 5_000, 10_000];
const JITTER = 0.2;

/** A GET request to Hookbay. @throws ApiRefusal, ApiBusy, or what `fetch` throws without an answer */
export async function callApi({ api, token }: Options, path: string, signal: AbortSignal): Promise<Response> {
  const headers = { authorization: `Bearer ${token()}` };
  // A redirect could take the token to another server.
  const response = await fetch(new URL(path, api), { headers, redirect: 'manual', signal });
  const { status } = response;
  if (response.ok) return response;
  if (status < 400) throw new ApiRefusal(status, `Hookbay answers ${status}: --url has to be its final address`);
  const message = `Hookbay answers ${status}: ${errorIn(await readText(response))}`;
  if (status < 500 && status !== 408 && status !== 429) throw new ApiRefusal(status, message);
  const seconds = Number(response.headers.get('retry-after')) || 0;
  throw new ApiBusy(message, 1_000 * Math.min(seconds, MAX_RETRY_AFTER_SECONDS));
}

/** The endpoint of an id or an alias. @throws ApiRefusal 404 */
export async function findEndpoint(options: Options, signal: AbortSignal): Promise<EndpointRecord> {
  const key = options.endpoint.toLowerCase();
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(key))
    return (await readJson(await callApi(options, `api/endpoints/${key}`, signal))) as EndpointRecord;
  for (let page = 0, before = ''; page < MAX_PAGES; page += 1) {
    const answer = await callApi(options, `api/endpoints?limit=1000${before}`, signal);
    const { endpoints } = (await readJson(answer)) as { endpoints: EndpointRecord[] };
    const found = endpoints.find(({ alias }) => alias === key);
    if (found !== undefined) return found;
    const last = endpoints.at(-1);
    if (last === undefined) break;
    before = `&before=${last.id}`;
  }
  throw new ApiRefusal(404, `Hookbay has no endpoint ${brief(options.endpoint)} of yours`);
}

/** Waits before the next attempt: longer each time, until an attempt was a success. */
export function createBackoff(): { wait(error: unknown, signal: AbortSignal): Promise<void>; reset(): void } {
  let failures = 0;
  return {
    async wait(error, signal) {
      const asked = error instanceof ApiBusy ? error.retryAfterMs : 0;
      const delay = reconnectDelay(failures, asked, Math.random());
      failures += 1;
      await sleep(delay, undefined, { signal });
    },
    reset() {
      failures = 0;
    },
  };
}

/** Varied, so that the listeners of a restarted process do not all come back at once; `random` is from 0 to 1. */
export function reconnectDelay(failures: number, asked: number, random: number): number {
  const step = RECONNECT_MS[Math.min(failures, RECONNECT_MS.length - 1)] as number;
  return Math.max(step, asked) * (1 - JITTER + 2 * JITTER * random);
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return JSON.parse(await readText(response));
  } catch (error) {
    if (error instanceof SyntaxError) throw new ListenError('The address does not answer like Hookbay');
    throw error;
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_JSON_BYTES) throw new ListenError('The address does not answer like Hookbay');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function errorIn(text: string): string {
  try {
    const error = (JSON.parse(text) as { error?: unknown } | null)?.error;
    return brief(typeof error === 'string' ? error : text);
  } catch {
    return brief(text);
  }
}

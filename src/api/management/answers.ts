import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { logEntryJson, presentRequest } from '../../domain/log-entry.ts';
import { type StoredRequest } from '../../domain/captured-request.ts';
import { unavailable } from '../http/errors.ts';
import { createTurns } from '../../turns.ts';
import { principal } from '../auth/token.ts';
import { SenderGone } from '../http/body.ts';
import type { ByteBudget } from '../http/byte-budget.ts';

/** Bytes that are written at a time, so that `slow-readers.ts` sees progress. */
const SLICE_BYTES = 64 * 1024;

/** @throws HttpError 503 without free memory; SenderGone when the client has disconnected */
export function reserve(ctx: Context, budget: ByteBudget, bytes: number): void {
  if (ctx.res.closed) throw new SenderGone();
  const holding = budget.open(principal(ctx));
  if (!holding.take(bytes))
    throw unavailable('Too many large answers are being sent, to you or to others; read yours, or try again');
  ctx.res.once('close', () => holding.release());
}

export function answerEntry(ctx: Context, entry: StoredRequest, raw = false): void {
  if (entry.body.length <= SLICE_BYTES) ctx.body = presentRequest(entry, raw);
  else answerJson(ctx, logEntryJson(entry, raw));
}

/** Answers `{"requests": [entries…], …rest}`. */
export function answerEntries(
  ctx: Context,
  entries: StoredRequest[],
  rest: Record<string, unknown>,
  raw = false,
): void {
  answerJson(ctx, listJson(entries, rest, raw));
}

export function answerBytes(ctx: Context, bytes: Buffer): void {
  ctx.body = bytes.length <= SLICE_BYTES ? bytes : Readable.from(slices(bytes), { objectMode: false });
  ctx.length = bytes.length;
}

/** Sends a JSON text in pieces, as fast as it is read, and lets other work run in between. */
function answerJson(ctx: Context, pieces: Iterable<string>): void {
  ctx.type = 'json';
  ctx.body = Readable.from(inSlices(pieces), { objectMode: false, highWaterMark: SLICE_BYTES });
}

async function* inSlices(pieces: Iterable<string>): AsyncGenerator<string> {
  const turn = createTurns();
  for (const piece of pieces) {
    await turn();
    yield piece;
  }
}

function* listJson(entries: StoredRequest[], rest: Record<string, unknown>, raw: boolean): Generator<string> {
  yield '{"requests":[';
  for (const [i, entry] of entries.entries()) {
    if (i > 0) yield ',';
    yield* logEntryJson(entry, raw);
  }
  yield `],${JSON.stringify(rest).slice(1)}`;
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += SLICE_BYTES) yield bytes.subarray(start, start + SLICE_BYTES);
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { httpError, payloadTooLarge, unavailable } from './errors.ts';
import type { Holding } from './byte-budget.ts';
import { takeReadingTurn } from './reading-turns.ts';

/** Bytes of a refused body that are read and discarded, so that the sender can read the answer. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;
const MAX_DISCARDING_MS = 10_000;

const EMPTY = Buffer.alloc(0);

export interface Pace {
  /** Until then any speed is accepted. */
  deadlineMs: number;
  /** After that, each window has to bring this many bytes. */
  windowMs: number;
  windowBytes: number;
}

export const PACE: Pace = { deadlineMs: 30_000, windowMs: 10_000, windowBytes: 80 * 1024 };

/** The sender disconnected before its body was complete: nothing is stored, and no answer can be sent. */
export class SenderGone extends Error {}

/**
 * Reads a whole body as it was sent. Its length stays taken from `holding` until the caller releases it.
 * @throws HttpError 408 when the body is too slow, 413 over `maxSize` (at once where the length is declared), 503 when
 *   the memory budget is used up; SenderGone when the sender disconnects
 */
export async function readBody(
  req: IncomingMessage,
  res: ServerResponse,
  maxSize: number,
  holding: Holding,
  pace = PACE,
): Promise<Buffer> {
  const declared = declaredLength(req);
  if (declared !== undefined && declared > maxSize) {
    discard(req);
    throw payloadTooLarge(maxSize, declared);
  }
  if (declared === 0 || (declared === undefined && req.headers['transfer-encoding'] === undefined)) return EMPTY;
  // The sender may have disconnected during the look-up; no further event reports that.
  if (req.destroyed) throw new SenderGone();
  sendContinueIfExpected(req, res);
  // Node parses all that it read of a connection before a promise continues: a small body is complete then.
  await Promise.resolve();
  if (declared !== undefined && req.readableLength === declared) return takeWhole(req, declared, holding);
  if (req.destroyed) throw new SenderGone();
  return collect(req, maxSize, holding, pace);
}

/** The same for a body that has arrived: it needs no watch. */
function takeWhole(req: IncomingMessage, length: number, holding: Holding): Buffer {
  if (!holding.take(length)) {
    discard(req);
    throw noMemory();
  }
  const chunks: Buffer[] = [];
  for (let chunk: Buffer | null; (chunk = req.read() as Buffer | null) !== null;) chunks.push(chunk);
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length);
}

/** Called as late as possible. HTTP/1.0 has no interim answers (RFC 9110, section 10.1.1). */
export function sendContinueIfExpected(req: IncomingMessage, res: ServerResponse): void {
  if (/(^|,)\s*100-continue\s*(,|$)/i.test(req.headers.expect ?? '') && req.httpVersion !== '1.0') res.writeContinue();
}

/**
 * Counts the bytes of a body against `holding` and checks its speed, while another function reads it. Must be called in
 * the turn of the event loop in which the reading begins.
 * @param fail called at most once: with SenderGone when the sender disconnects, HttpError 408 when the body is too
 *   slow, 503 when the memory budget is used up
 * @returns a function that ends the watch
 */
export function watchBody(
  req: IncomingMessage,
  holding: Holding,
  fail: (error: Error) => void,
  pace = PACE,
): () => void {
  let size = 0;
  let checked = 0;
  let timer = setTimeout(check, pace.deadlineMs);

  function count(chunk: Buffer): void {
    size += chunk.length;
    takeReadingTurn(req, chunk.length);
    if (!holding.take(chunk.length)) end(noMemory());
  }
  function check(): void {
    if (size - checked < pace.windowBytes) return end(tooSlow());
    checked = size;
    timer = setTimeout(check, pace.windowMs);
  }
  function onClose(): void {
    end(new SenderGone());
  }
  function stop(): void {
    clearTimeout(timer);
    req.off('data', count).off('end', stop).off('error', onClose).off('close', onClose);
  }
  function end(error: Error): void {
    stop();
    fail(error);
  }
  req.on('data', count).on('end', stop).on('error', onClose).on('close', onClose);
  return stop;
}

function collect(req: IncomingMessage, maxSize: number, holding: Holding, pace: Pace): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    // Before the watch: a body over the limit gets 413, however much memory is left.
    req.on('data', onData).on('end', onEnd);
    const stopWatch = watchBody(req, holding, refuse, pace);

    function onData(chunk: Buffer): void {
      size += chunk.length;
      if (size > maxSize) refuse(payloadTooLarge(maxSize, size));
      else chunks.push(chunk);
    }
    function onEnd(): void {
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size));
    }
    function refuse(error: Error): void {
      stopWatch();
      req.off('data', onData).off('end', onEnd);
      if (!(error instanceof SenderGone)) discard(req);
      reject(error);
    }
  });
}

/** Reads on within bounds: closing with unread bytes would reset the connection and lose the answer. */
export function discard(req: IncomingMessage): void {
  let discarded = 0;
  const timer = setTimeout(() => req.destroy(), MAX_DISCARDING_MS);
  req.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MAX_DISCARDED_BYTES) req.destroy();
  });
  req.on('error', () => {}).on('close', () => clearTimeout(timer));
}

function declaredLength(req: IncomingMessage): number | undefined {
  const header = req.headers['content-length'];
  return header === undefined ? undefined : Number(header);
}

/** Closes the connection with the answer, because the rest of the body is not read. */
function tooSlow(): Error {
  return httpError(408, 'The body did not arrive in time; send it faster than 8 KiB a second', {
    headers: { Connection: 'close' },
  });
}

function noMemory(): Error {
  return unavailable('Too many bodies are being received at once; send this request again');
}

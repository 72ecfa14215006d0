import type { IncomingMessage, ServerResponse } from 'node:http';
import { httpError, payloadTooLarge, unavailable } from './errors.ts';
import type { Holding } from './byte-budget.ts';

/** Bytes of a refused body that are read and thrown away, so that the sender gets to read the answer. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;
const MAX_DISCARDING_MS = 10_000;

const EMPTY = Buffer.alloc(0);

/** How fast a body has to come in. */
export interface Pace {
  /** Until then it may come as it likes. */
  deadlineMs: number;
  /** After that, each such time has to bring so many bytes. */
  windowMs: number;
  windowBytes: number;
}

export const PACE: Pace = { deadlineMs: 30_000, windowMs: 10_000, windowBytes: 80 * 1024 };

/** The sender went away before its body was complete: nothing is stored, nobody can be answered. */
export class SenderGone extends Error {}

/**
 * Reads a whole body as it is on the wire. Its length stays taken from `holding`:
 * the caller releases it when it is done with the body.
 *
 * @throws HttpError 408 when the body does not keep the pace, 413 over `maxSize` (at once where the length is
 *   declared), 503 when the memory set aside is used up; SenderGone when the sender breaks off
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
  // It may have gone while its endpoint was looked up; then no event comes any more.
  if (req.destroyed) throw new SenderGone();
  continueIfAsked(req, res);
  return collect(req, maxSize, holding, pace);
}

/**
 * Answers `Expect: 100-continue`; only now, because a body that is too large need not be sent at all.
 * HTTP/1.0 knows no interim answers (RFC 9110, section 10.1.1).
 */
export function continueIfAsked(req: IncomingMessage, res: ServerResponse): void {
  if (/(^|,)\s*100-continue\s*(,|$)/i.test(req.headers.expect ?? '') && req.httpVersion !== '1.0') res.writeContinue();
}

/**
 * Watches a body that somebody else reads: counts its bytes against `holding` and times them.
 * To be called in the same turn of the event loop as the reading begins.
 *
 * @param fail called at most once: SenderGone when the sender breaks off, HttpError 408 when the body does not keep
 *   the pace, 503 when the memory set aside is used up
 * @returns what ends the watch
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
    if (!holding.take(chunk.length))
      end(unavailable('Too many bodies are being received at once; send this request again'));
  }
  function check(): void {
    if (size - checked < pace.windowBytes) return end(tooSlow());
    checked = size;
    timer = setTimeout(check, pace.windowMs);
  }
  function gone(): void {
    end(new SenderGone());
  }
  function stop(): void {
    clearTimeout(timer);
    req.off('data', count).off('end', stop).off('error', gone).off('close', gone);
  }
  function end(error: Error): void {
    stop();
    fail(error);
  }
  req.on('data', count).on('end', stop).on('error', gone).on('close', gone);
  return stop;
}

function collect(req: IncomingMessage, maxSize: number, holding: Holding, pace: Pace): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    // Before the watch: a body that is too large is told so, however much memory is left.
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

/** Reads on for a bounded while: closing with unread bytes would reset the connection and lose the answer. */
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

/** The connection goes with the answer, so that the rest of the body is not waited for. */
function tooSlow(): Error {
  return httpError(408, 'The body did not arrive in time; send it faster than 8 KiB a second', {
    headers: { Connection: 'close' },
  });
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { payloadTooLarge, unavailable } from '../errors.ts';

/** Bytes of a refused body that are read and thrown away, so that the sender gets to read the answer. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

const EMPTY = Buffer.alloc(0);

/** Memory for bodies that one process may hold, in bytes. */
export interface ByteBudget {
  /** Takes bytes, or refuses and takes none. */
  take(bytes: number): boolean;
  give(bytes: number): void;
  /** Bytes that are taken. */
  used(): number;
}

export function createByteBudget(max: number): ByteBudget {
  let used = 0;
  return {
    take(bytes) {
      if (used + bytes > max) return false;
      used += bytes;
      return true;
    },
    give(bytes) {
      used -= bytes;
    },
    used: () => used,
  };
}

/** The sender went away before its body was complete: nothing is stored, nobody can be answered. */
export class SenderGone extends Error {}

/**
 * Reads a whole body as it is on the wire. Its length stays taken from `budget`:
 * the caller gives it back when it is done with the body.
 *
 * @throws HttpError 413 over `maxSize` (at once where the length is declared), 503 when the
 *   budget is used up; SenderGone when the sender breaks off
 */
export async function readBody(req: IncomingMessage, res: ServerResponse, maxSize: number, budget: ByteBudget): Promise<Buffer> {
  const declared = declaredLength(req);
  if (declared !== undefined && declared > maxSize) {
    discard(req);
    throw payloadTooLarge(maxSize, declared);
  }
  if (declared === 0 || (declared === undefined && req.headers['transfer-encoding'] === undefined)) return EMPTY;
  // It may have gone while its endpoint was looked up; then no event comes any more.
  if (req.destroyed) throw new SenderGone();
  continueIfAsked(req, res);
  return collect(req, maxSize, budget);
}

/** Answers `Expect: 100-continue`; only now, because a body that is too large need not be sent at all. */
export function continueIfAsked(req: IncomingMessage, res: ServerResponse): void {
  if (req.headers.expect?.toLowerCase() === '100-continue') res.writeContinue();
}

function declaredLength(req: IncomingMessage): number | undefined {
  const header = req.headers['content-length'];
  return header === undefined ? undefined : Number(header);
}

function collect(req: IncomingMessage, maxSize: number, budget: ByteBudget): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;

    function refuse(error: Error): void {
      stopListening();
      budget.give(size);
      reject(error);
    }
    function onData(chunk: Buffer): void {
      if (size + chunk.length > maxSize) {
        const actualSize = size + chunk.length;
        refuse(payloadTooLarge(maxSize, actualSize));
        discard(req);
      } else if (!budget.take(chunk.length)) {
        refuse(unavailable('Too many bodies are being received at once; send this request again'));
        discard(req);
      } else {
        size += chunk.length;
        chunks.push(chunk);
      }
    }
    function onEnd(): void {
      stopListening();
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size));
    }
    function onGone(): void {
      refuse(new SenderGone());
    }
    function stopListening(): void {
      req.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
    }
    req.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

/** Reads on for a bounded while: closing with unread bytes would reset the connection and lose the answer. */
export function discard(req: IncomingMessage): void {
  let discarded = 0;
  req.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MAX_DISCARDED_BYTES) req.destroy();
  });
  req.on('error', () => {});
}

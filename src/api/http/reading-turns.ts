import type { IncomingMessage } from 'node:http';

/**
 * Bytes of bodies that are read in one turn of the event loop. Otherwise libuv reads up to 2 MiB from each connection
 * before the next, and a burst of large bodies holds all other requests.
 */
const BYTES_PER_TURN = 1024 * 1024;

/** Connections that continue in one turn; each brings about 128 KiB. */
const RESUMED_PER_TURN = 8;

const paused = new Set<IncomingMessage>();
let bytesRead = 0;
let scheduled = false;

/** To be called with each piece of a body: pauses its request until other connections had their turn. */
export function takeReadingTurn(req: IncomingMessage, bytes: number): void {
  bytesRead += bytes;
  if (bytesRead > BYTES_PER_TURN) {
    req.pause();
    paused.add(req);
  }
  if (scheduled) return;
  scheduled = true;
  setImmediate(startTurn);
}

function startTurn(): void {
  bytesRead = 0;
  scheduled = paused.size > 0;
  if (scheduled) setImmediate(startTurn);
  for (const req of [...paused].slice(0, RESUMED_PER_TURN)) {
    paused.delete(req);
    req.resume();
  }
}

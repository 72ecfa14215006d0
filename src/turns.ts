import { setImmediate } from 'node:timers/promises';

/** How long work may hold the event loop before other work runs, in milliseconds. */
const MAX_TURN_MS = 10;

/** Await the function between pieces of long work. It measures time: bytes, headers and parameters all count. */
export function createTurns(maxTurnMs = MAX_TURN_MS): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < maxTurnMs) return undefined;
    return setImmediate().then(() => void (began = performance.now()));
  };
}

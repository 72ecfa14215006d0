import { setImmediate } from 'node:timers/promises';

/** How long work may hold the event loop before other work runs, in milliseconds. */
const MAX_TURN_MS = 10;

/**
 * Returns a function to await between the pieces of long work: it gives other work a turn of the event loop after 10
 * ms, and otherwise returns at once. It measures time, because the cost of a piece depends on its bytes, headers and
 * parameters.
 */
export function createTurns(maxTurnMs = MAX_TURN_MS): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < maxTurnMs) return undefined;
    return setImmediate().then(() => void (began = performance.now()));
  };
}

import { setImmediate } from 'node:timers/promises';

/** How long work may hold the event loop before everybody else gets a turn, in milliseconds. */
const MAX_TURN_MS = 10;

/**
 * A function to await between the pieces of long work: it gives the event loop a turn when this work has held it
 * for 10 ms, and otherwise returns at once. Time is what counts, because a piece costs by its bytes, its headers
 * and its parameters alike.
 */
export function createTurns(maxTurnMs = MAX_TURN_MS): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < maxTurnMs) return undefined;
    return setImmediate().then(() => void (began = performance.now()));
  };
}

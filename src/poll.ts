import { setTimeout as sleep } from 'node:timers/promises';

/** A loop that runs until it is stopped. */
export interface Poll {
  /** Resolves when the last call is over. */
  stop(): Promise<void>;
}

/**
 * Calls `work` repeatedly; it returns the pause before the next call in milliseconds, or `undefined` to end the loop.
 * `work` must not throw. The loop does not keep the process alive.
 */
export function poll(work: () => Promise<number | undefined>): Poll {
  const stopped = new AbortController();
  const running = run();

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      const pauseMs = await work();
      if (pauseMs === undefined) return;
      await sleep(pauseMs, undefined, { signal: stopped.signal, ref: false }).catch(() => {});
    }
  }

  return {
    stop() {
      stopped.abort();
      return running;
    },
  };
}

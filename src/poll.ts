import { setTimeout as sleep } from 'node:timers/promises';

/** A loop that runs until it is stopped. */
export interface Poll {
  /** Resolves when the last look is over. */
  stop(): Promise<void>;
}

/**
 * Calls `look` again and again, with the pause in milliseconds that it answers; `undefined` ends the loop.
 * `look` must not throw. The loop does not keep the process alive.
 */
export function poll(look: () => Promise<number | undefined>): Poll {
  const stopped = new AbortController();
  const running = run();

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      const pauseMs = await look();
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

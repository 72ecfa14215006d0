import { setTimeout as sleep } from 'node:timers/promises';

export interface Poll {
  stop(): Promise<void>;
}

/** `work` returns the next pause in milliseconds, or `undefined` to end the loop; it must not throw. */
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

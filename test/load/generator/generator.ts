import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { LoadOptions, LoadResult } from './load.ts';

/** A load generator in a process of its own, so that its cost is not part of what is measured. */
export interface Generator {
  run(options: LoadOptions): Promise<LoadResult>;
  stop(): void;
}

export function startGenerator(): Generator {
  const child = fork(new URL('process.ts', import.meta.url));
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`the load generator ended with ${String(code)}`);
  });
  exited.catch(() => {});
  return {
    async run(options) {
      child.send(options);
      const [answer] = (await Promise.race([once(child, 'message'), exited])) as [
        { result: LoadResult } | { error: string },
      ];
      if ('error' in answer) throw new Error(answer.error);
      return answer.result;
    },
    stop: () => child.disconnect(),
  };
}

import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The longest pause of the event loop of this process during some work, in milliseconds. */
export async function longestPause(work: () => Promise<unknown>): Promise<number> {
  const monitor = monitorEventLoopDelay({ resolution: 1 });
  await turn();
  monitor.enable();
  // The first reading would include the time since the monitor was created.
  await turn();
  monitor.reset();
  await work();
  await turn();
  monitor.disable();
  return monitor.max / 1e6;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

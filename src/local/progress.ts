const HEARTBEAT_MS = 5_000;

/** Prints what is running, that it still runs every few seconds, and how long it took. */
export async function step<T>(text: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const seconds = (): string => `${((performance.now() - start) / 1000).toFixed(1)} s`;
  say(`${text} …`);
  const timer = setInterval(() => say(`  still running (${seconds()})`), HEARTBEAT_MS);
  try {
    const result = await work();
    say(`  done in ${seconds()}`);
    return result;
  } finally {
    clearInterval(timer);
  }
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

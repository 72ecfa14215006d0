const HEARTBEAT_MS = 5_000;

/** Says what is being done, that it still is every few seconds, and how long it took. */
export async function step<T>(text: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const seconds = (): string => `${((performance.now() - start) / 1000).toFixed(1)} s`;
  say(`${text} …`);
  const timer = setInterval(() => say(`  still at it (${seconds()})`), HEARTBEAT_MS);
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

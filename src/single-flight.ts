/** Calls that come while one is running share its answer. */
export function shareRunning<T>(ask: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= ask().finally(() => (running = undefined));
    return running;
  };
}

/** Calls that come while one is running share the next one: each gets an answer that began after it asked. */
export function shareNext<T>(ask: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const start = (): Promise<T> => {
    const asked = ask();
    running = asked;
    const over = (): void => void (running === asked && (running = undefined));
    asked.then(over, over);
    return asked;
  };
  return () => {
    if (running === undefined) return start();
    const startNext = (): Promise<T> => {
      next = undefined;
      return start();
    };
    next ??= running.then(startNext, startNext);
    return next;
  };
}

/** Calls during a running one share its result. */
export function shareRunning<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => (running = undefined));
    return running;
  };
}

/** Calls during a running one share the next one, so each result comes from work that began after the call. */
export function shareNext<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const start = (): Promise<T> => {
    const started = work();
    running = started;
    const over = (): void => void (running === started && (running = undefined));
    started.then(over, over);
    return started;
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

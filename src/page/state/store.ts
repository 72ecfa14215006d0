/** A value that views show. Those who subscribe hear of changes once a frame, however many there were. */
export interface Store<T> {
  get(): T;
  set(value: T): void;
  update(change: (value: T) => T): void;
  subscribe(listener: () => void): () => void;
}

/** Frames stop in hidden tabs, and arrivals still have to be counted there. */
const HIDDEN_FRAME_MS = 250;

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  let scheduled = false;
  const listeners = new Set<() => void>();

  function notify(): void {
    scheduled = false;
    for (const listener of listeners) listener();
  }

  const store: Store<T> = {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      if (scheduled) return;
      scheduled = true;
      onNextFrame(notify);
    },
    update: (change) => store.set(change(value)),
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  return store;
}

/** Calls once, with the next frame, or soon where there are no frames. */
export function onNextFrame(work: () => void): void {
  let done = false;
  const once = (): void => {
    if (done) return;
    done = true;
    clearTimeout(timer);
    work();
  };
  const timer = setTimeout(once, HIDDEN_FRAME_MS);
  if (typeof requestAnimationFrame === 'function') requestAnimationFrame(once);
}

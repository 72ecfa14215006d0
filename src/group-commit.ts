/** One flush for many callers: items that arrive during a flush form the next one. */
export interface GroupCommit<T, R> {
  /** Resolves with the item's own result, or rejects with the error of its flush. */
  submit(item: T): Promise<R>;
  idle(): Promise<void>;
}

export interface GroupCommitOptions<T, R> {
  maxItems: number;
  /** Maximum number of bytes in one flush; a larger item is flushed alone. */
  maxBytes: number;
  /** Flushes at a time; another one starts only when it is full. */
  maxInFlight: number;
  /** Maximum number of bytes in overlapping flushes, unless a single flush has more; no limit by default. */
  maxBytesInFlight?: number;
  /**
   * How long (milliseconds) a flush may wait after another for the callers that were just answered, whose next items
   * would otherwise form a flush of their own; 0 = not at all, the default.
   */
  lingerMs?: number;
  /** Items that waited longer than this (milliseconds) for their flush are refused; no limit by default. */
  maxWaitMs?: number;
  sizeOf: (item: T) => number;
  /** Takes 1 to maxItems items; returns one result an item, in order. */
  flush: (items: T[]) => Promise<R[]>;
}

/** An item was refused before it was flushed, because its turn did not come in time. */
export class WaitedTooLong extends Error {}

interface Waiting<T, R> {
  item: T;
  size: number;
  since: number;
  resolve: (result: R) => void;
  reject: (error: unknown) => void;
}

/**
 * Group commit: an idle service flushes at once, a busy one amortises. Callers that send again once they are answered
 * would form two groups that wait for each other, each with a half of them; a short linger joins the groups. A failed
 * flush also refuses all waiting items: they would meet the same fault one time-out later, and their callers have
 * deadlines.
 */
export function createGroupCommit<T, R>(options: GroupCommitOptions<T, R>): GroupCommit<T, R> {
  const { maxItems, maxBytes, maxInFlight, maxBytesInFlight = Infinity, maxWaitMs = Infinity } = options;
  const { lingerMs = 0, sizeOf, flush } = options;
  let waiting: Waiting<T, R>[] = [];
  let waitingBytes = 0;
  let inFlight = 0;
  let bytesInFlight = 0;
  let scheduled = false;
  /** While it is set, flushes wait for more items. */
  let linger: { until: number; timer: NodeJS.Timeout } | undefined;
  let onIdle: (() => void)[] = [];

  function submit(item: T): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      const size = sizeOf(item);
      waiting.push({ item, size, since: performance.now(), resolve, reject });
      waitingBytes += size;
      schedule();
    });
  }

  /** Once per turn of the event loop, so that all requests read in one turn share a flush. */
  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      if (linger === undefined) startFlushes();
      else if (waiting.length >= linger.until || isFull()) endLinger();
    });
  }

  /** Waits for as many items as were waiting and were just answered. */
  function lingerFor(answered: number): void {
    if (linger !== undefined) return;
    if (lingerMs === 0 || waiting.length === 0 || isFull()) return startFlushes();
    linger = { until: waiting.length + answered, timer: setTimeout(endLinger, lingerMs) };
  }

  function endLinger(): void {
    clearTimeout(linger?.timer);
    linger = undefined;
    startFlushes();
  }

  function isFull(): boolean {
    return waiting.length >= maxItems || waitingBytes >= maxBytes;
  }

  function startFlushes(): void {
    refuseLate();
    const mayOverlap = (): boolean =>
      inFlight < maxInFlight && isFull() && bytesInFlight + nextBatch().bytes <= maxBytesInFlight;
    while (waiting.length > 0 && (inFlight === 0 || mayOverlap())) void run(nextBatch());
    if (waiting.length === 0 && inFlight === 0) {
      for (const resolve of onIdle) resolve();
      onIdle = [];
    }
  }

  /** Refuses items that waited too long; the oldest are first. */
  function refuseLate(): void {
    const limit = performance.now() - maxWaitMs;
    while (waiting[0] !== undefined && waiting[0].since < limit) {
      const late = waiting.shift() as Waiting<T, R>;
      waitingBytes -= late.size;
      late.reject(new WaitedTooLong());
    }
  }

  /** The number of waiting items in the next flush, and their bytes. */
  function nextBatch(): { count: number; bytes: number } {
    let count = 0;
    let bytes = 0;
    for (const { size } of waiting) {
      if (count === maxItems || (count > 0 && bytes + size > maxBytes)) break;
      count += 1;
      bytes += size;
    }
    return { count, bytes };
  }

  async function run({ count, bytes }: { count: number; bytes: number }): Promise<void> {
    const batch = waiting.splice(0, count);
    waitingBytes -= bytes;
    inFlight += 1;
    bytesInFlight += bytes;
    try {
      const results = await flush(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => resolve(results[index] as R));
    } catch (error) {
      const refused = [...batch, ...waiting];
      waiting = [];
      waitingBytes = 0;
      for (const { reject } of refused) reject(error);
    } finally {
      inFlight -= 1;
      bytesInFlight -= bytes;
      lingerFor(count);
    }
  }

  function idle(): Promise<void> {
    if (waiting.length === 0 && inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => onIdle.push(resolve));
  }

  return { submit, idle };
}

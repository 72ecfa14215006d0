import { trimmed, type Entry } from '../model/entry.ts';
import type { Link } from './link.ts';
import { openLive, type Live } from './live.ts';
import { onNextFrame } from './store.ts';

export interface FollowingOptions {
  endpointId: string;
  token: () => string | undefined;
  onUnauthorized: (reason: string) => void;
  /** The `seq` to follow from: everything that is stored beyond it is sent first. */
  start: () => Promise<number>;
  /** The highest `seq` that the server has stored. */
  latest: () => Promise<number>;
  /** Takes what arrived since the last frame, and says how much of it was new. */
  take: (entries: readonly Entry[]) => number;
  show: (link: Link) => void;
  fail: (error: unknown) => void;
}

export interface Following {
  /** Connects again at once. */
  retry(): void;
  close(): void;
}

/** How long an event may be overtaken by others before what is missing is asked for. */
const OVERTAKEN_MS = 1_500;

const RETRY_MS = 2_000;

const BLOCKED = 'a WebSocket cannot be opened from here';

/** Failed attempts without any success before the page says that it is not live. */
const FUTILE_ATTEMPTS = 2;

/** Follows an endpoint without a gap: over lost connections, lost events, and events that overtake each other. */
export function follow(options: FollowingOptions): Following {
  const { endpointId, show, fail } = options;
  let sequence: Sequence | undefined;
  let closed = false;
  let left = 0;
  const reporter = reportLosses(options, () => sequence?.last);
  const isOn = (): boolean => !closed && live.isConnected();
  const runs = createRuns(isOn, () => catchUp().catch(retryLater));
  const gap = watchGap(
    () => (closed || runs.isRunning() || sequence === undefined || sequence.ahead === 0 ? undefined : sequence.last),
    () => void run(),
  );

  const arrivals = collectArrivals((taken) => {
    if (closed) return;
    for (const { seq } of taken) sequence?.take(seq);
    const fresh = options.take(taken);
    if (left > 0) {
      left = Math.max(0, left - fresh);
      show({ state: 'catching-up', toGo: left });
    }
    gap.watch();
  });

  async function run(): Promise<void> {
    await runs.run();
    gap.watch();
  }

  function retryLater(error: unknown): void {
    if (!isOn()) return;
    fail(error);
    setTimeout(() => void (closed || run()), RETRY_MS);
  }

  async function catchUp(): Promise<void> {
    sequence ??= createSequence(await options.start());
    const latest = await options.latest();
    for (let more = true; more && !closed;) {
      left = Math.max(0, latest - sequence.last - sequence.ahead);
      if (left > 0) show({ state: 'catching-up', toGo: left });
      const answer = await live.subscribe(endpointId, sequence.last);
      arrivals.takeNow();
      sequence.advance(answer.next);
      ({ more } = answer);
    }
    left = 0;
    show({ state: 'live' });
  }

  const live: Live = openLive(options.token, {
    arrived: (entry) => entry.endpoint_id === endpointId && arrivals.add(entry),
    connected() {
      reporter.connected();
      void run();
    },
    lost: (why, retryAt) => reporter.lost(why, retryAt),
    unauthorized: options.onUnauthorized,
  });

  return {
    retry: () => live.retry(),
    close() {
      closed = true;
      gap.close();
      live.close();
    },
  };
}

/** What arrives in one frame is taken together. */
function collectArrivals(take: (entries: readonly Entry[]) => void) {
  let arrivals: Entry[] = [];
  function takeNow(): void {
    const taken = arrivals;
    arrivals = [];
    if (taken.length > 0) take(taken);
  }
  return {
    takeNow,
    add(entry: Entry): void {
      if (arrivals.length === 0) onNextFrame(takeNow);
      arrivals.push(trimmed(entry));
    },
  };
}

/** One run at a time; a call while one runs makes it run again. */
function createRuns(isOn: () => boolean, work: () => Promise<void>) {
  let running = false;
  let again = false;
  return {
    isRunning: () => running,
    async run(): Promise<void> {
      again = true;
      if (running) return;
      running = true;
      while (again && isOn()) {
        again = false;
        await work();
      }
      running = false;
    },
  };
}

/**
 * An event that was only overtaken comes within this time; one that was lost is asked for.
 * @param lastBefore up to where nothing is missing; undefined where nothing is beyond that
 */
function watchGap(lastBefore: () => number | undefined, ask: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  function watch(): void {
    const last = lastBefore();
    if (timer !== undefined || last === undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      if (lastBefore() === last) ask();
      else watch();
    }, OVERTAKEN_MS);
  }
  return { watch, close: () => clearTimeout(timer) };
}

/** Says that the connection is lost, and how many captures are missing meanwhile, where the API can be asked. */
function reportLosses({ show, latest }: FollowingOptions, last: () => number | undefined) {
  let everConnected = false;
  let losses = 0;
  let toGo = 0;
  return {
    connected() {
      everConnected = true;
      losses = 0;
      toGo = 0;
    },
    lost(why: string | undefined, retryAt: number): void {
      losses += 1;
      const mine = losses;
      if (!everConnected && losses >= FUTILE_ATTEMPTS) return show({ state: 'not-live', why: why ?? BLOCKED });
      const report = (): void => show({ state: 'reconnecting', retryAt, why, toGo });
      report();
      const known = last();
      if (known === undefined) return;
      void latest()
        .catch(() => known)
        .then((newest) => {
          toGo = Math.max(0, newest - known);
          return losses === mine && report();
        });
    },
  };
}

/**
 * How far an endpoint has been followed. Live events come at least once and may overtake each other; `seq` counts 1, 2,
 * 3 … in each endpoint, and numbers of deleted entries stay unused.
 */
interface Sequence {
  /** Everything up to this `seq` was received, or is not stored. */
  readonly last: number;
  /** How many events beyond a gap have been received. */
  readonly ahead: number;
  /** Takes the `seq` of an event. */
  take(seq: number): void;
  /** Everything up to `seq` was sent. */
  advance(seq: number): void;
}

function createSequence(start: number): Sequence {
  let last = start;
  const beyond = new Set<number>();

  function advance(seq: number): void {
    if (seq > last) {
      for (const taken of beyond) if (taken <= seq) beyond.delete(taken);
      last = seq;
    }
    while (beyond.delete(last + 1)) last += 1;
  }

  return {
    get last() {
      return last;
    },
    get ahead() {
      return beyond.size;
    },
    take(seq) {
      if (seq <= last) return;
      beyond.add(seq);
      advance(last);
    },
    advance,
  };
}

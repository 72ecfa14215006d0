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
  let arrivals: Entry[] = [];
  let running = false;
  let again = false;
  let closed = false;
  let gapTimer: ReturnType<typeof setTimeout> | undefined;
  const reporter = reportLosses(options, () => sequence?.last);
  let left = 0;

  function arrived(entry: Entry): void {
    if (entry.endpoint_id !== endpointId) return;
    if (arrivals.length === 0) onNextFrame(takeArrivals);
    arrivals.push(trimmed(entry));
  }

  function takeArrivals(): void {
    if (closed || arrivals.length === 0) return;
    const taken = arrivals;
    arrivals = [];
    for (const { seq } of taken) sequence?.take(seq);
    const fresh = options.take(taken);
    if (left > 0) {
      left = Math.max(0, left - fresh);
      show({ state: 'catching-up', toGo: left });
    }
    watchGap();
  }

  /** An event that was only overtaken comes within this time; one that was lost is asked for. */
  function watchGap(): void {
    if (gapTimer !== undefined || running || sequence === undefined || sequence.ahead === 0) return;
    const { last } = sequence;
    gapTimer = setTimeout(() => {
      gapTimer = undefined;
      if (closed || sequence?.ahead === 0) return;
      if (sequence?.last === last) void run();
      else watchGap();
    }, OVERTAKEN_MS);
  }

  /** One at a time; a call while one runs makes it run again. */
  async function run(): Promise<void> {
    again = true;
    if (running) return;
    running = true;
    while (again && !closed && live.isConnected()) {
      again = false;
      await catchUp().catch(retryLater);
    }
    running = false;
    watchGap();
  }

  function retryLater(error: unknown): void {
    if (closed || !live.isConnected()) return;
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
      takeArrivals();
      sequence.advance(answer.next);
      ({ more } = answer);
    }
    left = 0;
    show({ state: 'live' });
  }

  const live: Live = openLive(options.token, {
    arrived,
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
      clearTimeout(gapTimer);
      live.close();
    },
  };
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

import { REQUEST_EVENT } from '../../domain/live-event.ts';
import { presentRequest } from '../../domain/log-entry.ts';
import type { Following } from '../../redis/wake-ups.ts';
import { createTurns } from '../../turns.ts';
import { STREAM_TIMES, type EventStream } from './event-stream.ts';
import type { Found } from './look.ts';

/** Stored entries that one stream sends at most before it ends with `more`. */
const REPLAY_MAX = 1_000;

const PAGE = 20;

export interface FeedOptions {
  stream: EventStream;
  following: Following;
  look: (after: number, limit: number) => Promise<Found>;
  /** The `seq` to begin after. */
  from: number;
  /** The last `seq` at the beginning; what comes later is live. */
  committed: number;
  /** With `target` and `raw_headers`. */
  raw: boolean;
  signal: AbortSignal;
}

/**
 * Sends the entries of an endpoint in the order of `seq` until the signal aborts. They are read from the store, and a
 * wake-up only says when, so none is missed, repeated or overtaken. The result says why it ended otherwise.
 */
export async function feed(options: FeedOptions): Promise<'more' | 'too_slow' | undefined> {
  const { stream, following, committed, raw, signal } = options;
  const turn = createTurns();
  let position = options.from;
  let told = -1;
  let sent = 0;

  /** Tells how far the stream is, so that a client that connects again need not begin before entries without match. */
  function tell(event: 'position' | 'more'): void {
    stream.send({ event, id: position, data: { seq: position } });
    told = position;
  }

  function beat(): void {
    if (stream.isBehind()) return;
    if (position > told) tell('position');
    else stream.ping();
  }

  /** Returns false when the client does not read. */
  async function sendAll({ requests }: Found): Promise<boolean> {
    for (const request of requests) {
      await turn();
      if (!(await stream.caughtUp(signal))) return false;
      stream.send({ event: REQUEST_EVENT, id: request.seq, data: presentRequest(request, raw) });
      position = told = request.seq;
      sent += 1;
    }
    return true;
  }

  async function catchUp(): Promise<'more' | 'too_slow' | undefined> {
    for (let done = false; !done && !signal.aborted;) {
      const replaying = position < committed;
      const found = await options.look(position, replaying ? Math.min(PAGE, REPLAY_MAX - sent) : PAGE);
      if (!(await sendAll(found))) return 'too_slow';
      ({ last: position, done } = found);
      // A stream that connects again looks no further back than one scan and `REPLAY_MAX` entries each time.
      if (replaying && position < committed && (found.stopped || sent >= REPLAY_MAX)) {
        tell('more');
        return 'more';
      }
    }
    return undefined;
  }

  tell('position');
  const heartbeat = setInterval(beat, STREAM_TIMES.ping);
  try {
    while (!signal.aborted) {
      const end = await catchUp();
      if (end !== undefined) return end;
      await following.next();
    }
    return undefined;
  } finally {
    clearInterval(heartbeat);
  }
}

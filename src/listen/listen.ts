import { once } from 'node:events';
import { createBackoff, findEndpoint } from './api.ts';
import { createReachability, deliver, type Result } from './deliver.ts';
import { follow, type Delivery } from './follow.ts';
import { forwardedPath } from './forwarded.ts';
import { readOptions, USAGE, type Options } from './options.ts';
import type { Session } from './session.ts';
import { brief, describe, ListenError, printable } from './text.ts';

/** Exit code of what Ctrl-C ended before it was done (128 + SIGINT). */
const INTERRUPTED = 130;

/** Time for open requests after Ctrl-C. */
const GRACE_MS = 5_000;

const SILENCE_MS = 30_000;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs the command, with the terminal and the signals of this process; returns its exit code. */
export async function listen(args: string[], silenceMs = SILENCE_MS): Promise<number> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const stop = stopOnSignal();
  try {
    const options = readOptions(args, process.env);
    if (options !== undefined) return await run({ options, say, silenceMs, ...stop });
    process.stdout.write(`${USAGE}\n`);
    return 0;
  } catch (error) {
    say(error instanceof ListenError ? error.message : describe(error));
    return 1;
  } finally {
    stop.end();
  }
}

interface Stop extends Pick<Session, 'stopping' | 'cutting'> {
  stop(this: void, reason: unknown): void;
  end(this: void): void;
}

/** A first signal ends it in order, a second one at once. */
function stopOnSignal(): Stop {
  const [stopping, cutting] = [new AbortController(), new AbortController()];
  let grace: NodeJS.Timeout | undefined;
  const stop = (reason: unknown): void => {
    stopping.abort(reason);
    grace ??= setTimeout(() => cutting.abort(reason), GRACE_MS);
  };
  const onSignal = (): void => {
    if (stopping.signal.aborted) process.exit(INTERRUPTED);
    stop(new Interrupted());
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  // Who reads the lines has ended, as in `listen … | head`.
  process.stdout.on('error', () => stop(new Interrupted()));
  const end = (): void => {
    clearTimeout(grace);
    for (const name of SIGNALS) process.off(name, onSignal);
  };
  return { stop, end, stopping: stopping.signal, cutting: cutting.signal };
}

class Interrupted extends Error {}

async function run(session: Session & Stop): Promise<number> {
  const { options, say, stopping, stop } = session;
  const reachability = createReachability(session);
  const open = new Map<number, Promise<void>>();
  /** What has no result. */
  const undone = new Set<number>();
  let [started, unanswered, last] = [0, 0, 0];

  async function take(delivery: Delivery): Promise<void> {
    try {
      const result = await deliver(delivery, session, reachability);
      if (result.status === undefined) unanswered += 1;
      undone.delete(delivery.seq);
      await print(lineOf(delivery, result, options), session.cutting);
    } catch (error) {
      stop(error);
    } finally {
      open.delete(delivery.seq);
    }
  }

  try {
    const { id, from } = await begin(session);
    last = from;
    say(`Forwarding what ${id} captures after ${from} to ${options.target.href}`);
    for await (const delivery of follow(session, id, from)) {
      last = delivery.seq;
      undone.add(last);
      open.set(last, take(delivery));
      started += 1;
      if (started === options.once) break;
      // The stream waits meanwhile: no more than these are in memory.
      if (open.size >= options.concurrency) await Promise.race(open.values());
    }
  } catch (error) {
    stop(error);
  }
  await Promise.all(open.values());
  if (!stopping.aborted) return unanswered === 0 ? 0 : 1;
  if (started > 0) say(`Stopped. To go on from here: --after ${Math.min(last, ...[...undone].map((seq) => seq - 1))}`);
  if (!(stopping.reason instanceof Interrupted)) throw stopping.reason;
  return options.once === Infinity ? 0 : INTERRUPTED;
}

/** Waits for Hookbay, and finds the endpoint and the `seq` to begin after. */
async function begin(session: Session): Promise<{ id: string; from: number }> {
  const { options, stopping, say } = session;
  for (const backoff = createBackoff(); ;) {
    try {
      const { id, request_count: count } = await findEndpoint(options, stopping);
      // The count is the `seq` of the last one that is stored, also when none is left.
      return { id, from: options.after === 'now' ? count : options.after };
    } catch (error) {
      if (stopping.aborted || error instanceof ListenError) throw error;
      say(`Hookbay at ${options.api.href} cannot be used (${describe(error)}); trying again`);
      await backoff.wait(error, stopping);
    }
  }
}

function lineOf(delivery: Delivery, { status, error, ms, attempts }: Result, options: Options): string {
  const { seq, id, method } = delivery;
  const path = forwardedPath(delivery.target, options.target, options.keepPath);
  if (options.json) return printable(JSON.stringify({ seq, id, method, path, status, error, ms, attempts }));
  const after = attempts === 1 ? '' : `, attempt ${attempts}`;
  return `${seq} ${brief(`${method} ${path}`)} → ${status ?? error} ${ms} ms${after}`;
}

async function print(line: string, signal: AbortSignal): Promise<void> {
  // A reader that is slow holds deliveries up, and lines do not gather in memory.
  if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain', { signal });
}

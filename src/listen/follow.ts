import type { LogEntry } from '../domain/answers.ts';
import { callApi, createBackoff } from './api.ts';
import { createEventParser, type StreamEvent } from './event-stream.ts';
import type { Session } from './session.ts';
import { brief, describe, ListenError } from './text.ts';

export type Delivery = Pick<
  LogEntry,
  'id' | 'seq' | 'method' | 'body' | 'body_encoding' | 'body_truncated' | 'size'
> & {
  target: string;
  raw_headers: [string, string][];
};

/** A connection that lasted so long was a success, even if nothing was captured meanwhile. */
const LASTED_MS = 10_000;

/**
 * The captures of an endpoint beyond `after`, in order and without a gap, over all reconnects. Reads on only when the
 * next one is asked for. @throws ListenError when connecting again is pointless, and when `stopping` is aborted
 */
export async function* follow(session: Session, endpointId: string, after: number): AsyncGenerator<Delivery> {
  const { options, stopping, say } = session;
  const backoff = createBackoff();
  for (let last = after; ;) {
    const query = new URLSearchParams(options.filter);
    query.set('after', String(last));
    query.set('raw', 'true');
    const opened = performance.now();
    let problem: unknown = new Error('it ended');
    try {
      for await (const event of readEvents(session, `api/endpoints/${endpointId}/events?${query.toString()}`)) {
        const delivery = event.event === 'request' ? deliveryIn(event) : undefined;
        const seq = delivery?.seq ?? seqIn(event);
        if (seq > last) {
          last = seq;
          backoff.reset();
          if (delivery !== undefined) yield delivery;
        }
        if (event.event === 'end') problem = new Error(reasonIn(event));
        // There is more than one stream replays: the next one goes on from here.
        if (event.event === 'more') problem = undefined;
        if (event.event === 'end' || event.event === 'more') break;
      }
    } catch (error) {
      if (stopping.aborted || error instanceof ListenError) throw error;
      problem = error;
    }
    if (performance.now() - opened > LASTED_MS) backoff.reset();
    if (problem !== undefined) say(`The connection to Hookbay was lost (${describe(problem)}); connecting again`);
    await backoff.wait(problem, stopping);
  }
}

/** The events of one connection. Ends with it, and throws when nothing has come for too long. */
async function* readEvents({ options, stopping, silenceMs }: Session, path: string): AsyncGenerator<StreamEvent> {
  const connection = new AbortController();
  const signal = AbortSignal.any([stopping, connection.signal]);
  const inTime = async <T>(work: Promise<T>): Promise<T> => {
    const silent = new Error(`nothing came for ${silenceMs / 1_000} s`);
    const timer = setTimeout(() => connection.abort(silent), silenceMs);
    return work.finally(() => clearTimeout(timer));
  };
  try {
    const response = await inTime(callApi(options, path, signal));
    if (response.body === null || !response.headers.get('content-type')?.startsWith('text/event-stream'))
      throw new ListenError('The address does not answer like Hookbay');
    const reader = response.body.getReader();
    const [decoder, parse] = [new TextDecoder(), createEventParser()];
    for (;;) {
      const { done, value } = await inTime(reader.read());
      if (done) return;
      yield* parse(decoder.decode(value, { stream: true }));
    }
  } finally {
    connection.abort();
  }
}

function deliveryIn({ data }: StreamEvent): Delivery {
  const entry = parsed(data) as Delivery | undefined;
  if (!Number.isSafeInteger(entry?.seq) || !entry?.target?.startsWith('/') || !Array.isArray(entry.raw_headers))
    throw new ListenError('The address does not answer like this version of Hookbay');
  return entry;
}

function seqIn({ id }: StreamEvent): number {
  return /^\d{1,16}$/.test(id) ? Number(id) : 0;
}

function reasonIn({ data }: StreamEvent): string {
  const reason = (parsed(data) as { reason?: unknown } | undefined)?.reason;
  return typeof reason === 'string' ? brief(reason) : 'it ended';
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) ?? undefined;
  } catch {
    return undefined;
  }
}

import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { LogEntry } from '../../src/domain/answers.ts';

export interface SentEvent {
  event: string;
  id?: string;
  data: string;
}

/** A client of an event stream that a test controls completely. */
export interface EventSourceClient {
  status: number;
  headers: IncomingHttpHeaders;
  events: SentEvent[];
  /** Everything as it came. */
  text(): string;
  /** The log entries so far. */
  entries(): LogEntry[];
  seqs(): number[];
  /** The last id, as an EventSource would send it. */
  lastId(): string | undefined;
  /** The reason in the last event, if that is `end`. */
  endReason(): string | undefined;
  isOver(): boolean;
  /** Stops reading, as a frozen browser tab does. */
  pause(): void;
  resume(): void;
  close(): void;
}

/** Resolves with the head of the answer; an error's body is in `text`. */
export function openEvents(
  url: string,
  token: string,
  { headers = {}, onEntry = () => {} }: { headers?: Record<string, string>; onEntry?: (entry: LogEntry) => void } = {},
): Promise<EventSourceClient> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent: false, headers: { Authorization: `Bearer ${token}`, ...headers } });
    sent.on('error', reject);
    sent.on('response', (response) => resolve(reading(response, () => sent.destroy(), onEntry)));
    sent.end();
  });
}

function reading(response: IncomingMessage, close: () => void, onEntry: (entry: LogEntry) => void): EventSourceClient {
  const events: SentEvent[] = [];
  const entries: LogEntry[] = [];
  const texts: string[] = [];
  let rest = '';
  let over = false;
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    texts.push(chunk);
    const whole = (rest + chunk).split('\n\n');
    rest = whole.pop() ?? '';
    for (const event of whole.flatMap((lines) => parseEvent(lines) ?? [])) {
      events.push(event);
      if (event.event !== 'request') continue;
      const entry = JSON.parse(event.data) as LogEntry;
      entries.push(entry);
      onEntry(entry);
    }
  });
  for (const name of ['close', 'error', 'end']) response.on(name, () => (over = true));
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    text: () => texts.join(''),
    entries: () => entries,
    seqs: () => entries.map(({ seq }) => seq),
    lastId: () => events.findLast(({ id }) => id !== undefined)?.id,
    endReason() {
      const last = events.at(-1);
      return last?.event === 'end' ? (JSON.parse(last.data) as { reason: string }).reason : undefined;
    },
    isOver: () => over,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close,
  };
}

function parseEvent(lines: string): SentEvent | undefined {
  const fields = new Map(
    lines.split('\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trimStart()] as const;
    }),
  );
  const data = fields.get('data');
  if (data === undefined) return undefined;
  const id = fields.get('id');
  return { event: fields.get('event') ?? 'message', ...(id !== undefined && { id }), data };
}

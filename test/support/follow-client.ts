import type { LogEntry } from '../../src/domain/answers.ts';
import { openEvents, type EventSourceClient } from './event-source.ts';

/** What a client got of one endpoint over all its connections. */
export interface Followed {
  seqs: number[];
  /** Milliseconds from a capture's arrival until the client had it. */
  latencies: number[];
  /** Connections, or requests. */
  rounds: number;
  stop(): void;
}

/** Follows as an EventSource does: connects again with the last id, after errors too. */
export function followEvents(url: string, token: string, endpointId: string): Followed {
  const followed: Followed = { seqs: [], latencies: [], rounds: 0, stop: () => {} };
  let stopped = false;
  let stream: EventSourceClient | undefined;
  followed.stop = () => {
    stopped = true;
    stream?.close();
  };
  void (async () => {
    for (let last: string | undefined; !stopped; await pause(100)) {
      followed.rounds += 1;
      const headers = last === undefined ? {} : { 'Last-Event-ID': last };
      const address = `${url}/api/endpoints/${endpointId}/events?after=0`;
      const onEntry = (entry: LogEntry): void => note(followed, entry);
      stream = await openEvents(address, token, { headers, onEntry }).catch(() => undefined);
      while (stream?.isOver() === false && !stopped) await pause(20);
      last = stream?.lastId() ?? last;
    }
  })();
  return followed;
}

/** Follows by one wait after another. */
export function followByWaits(url: string, token: string, endpointId: string): Followed {
  const followed: Followed = { seqs: [], latencies: [], rounds: 0, stop: () => {} };
  const leaving = new AbortController();
  followed.stop = () => leaving.abort();
  void (async () => {
    for (let after = '0'; !leaving.signal.aborted; followed.rounds += 1) {
      try {
        const answer = await fetch(`${url}/api/endpoints/${endpointId}/requests/next?after=${after}&timeout=20`, {
          headers: { Authorization: `Bearer ${token}` },
          signal: leaving.signal,
        });
        if (answer.status === 200) note(followed, (await answer.json()) as LogEntry);
        if (answer.status >= 400) await pause(100);
        after = answer.headers.get('X-Next-After') ?? after;
      } catch {
        await pause(100);
      }
    }
  })();
  return followed;
}

function note(followed: Followed, { seq, created_at: at }: LogEntry): void {
  followed.seqs.push(seq);
  followed.latencies.push(Date.now() - Date.parse(at));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { Context } from 'koa';
import { withDeadline } from '../../deadline.ts';

/** In milliseconds. */
export const STREAM_TIMES = {
  drain: 30_000,
  /** Proxies close connections on which nothing comes, usually after 60 s. */
  ping: 15_000,
  /** Where the client has closed its half, and may be gone: only a second write shows that. */
  probe: 500,
  stop: 2_000,
  retry: 2_000,
};

export interface ServerSentEvent {
  event: string;
  id?: number;
  data: unknown;
}

/** The answer of a request as `text/event-stream`; what waits for a slow reader is about one event. */
export interface EventStream {
  send(event: ServerSentEvent): void;
  /** A comment, which shows the client and proxies that the connection is alive. */
  ping(): void;
  /** Whether the client has to read before more is sent. */
  isBehind(): boolean;
  /** Resolves with true when the client has read, and with false when it is too slow or has left. */
  caughtUp(signal: AbortSignal): Promise<boolean>;
  end(): void;
}

export function openEventStream(ctx: Context): EventStream {
  const out = new PassThrough();
  ctx.type = 'text/event-stream';
  ctx.set('Cache-Control', 'no-store, no-transform');
  ctx.set('X-Accel-Buffering', 'no');
  ctx.body = out;
  out.write(`retry: ${STREAM_TIMES.retry}\n\n`);
  const write = (text: string): void => void (out.writable && out.write(text));

  return {
    send({ event, id, data }) {
      // JSON has no line breaks of its own, so it is one line.
      write(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    ping: () => void (out.writableNeedDrain || write(': ping\n\n')),
    isBehind: () => out.writableNeedDrain,
    async caughtUp(signal) {
      if (!out.writableNeedDrain) return true;
      try {
        await withDeadline(STREAM_TIMES.drain, once(out, 'drain', { signal }));
        return true;
      } catch {
        return false;
      }
    },
    end: () => void out.end(),
  };
}

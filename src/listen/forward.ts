import { Agent as HttpAgent, request as requestHttp, type ClientRequest, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { pipeline } from 'node:stream';
import { callApi } from './api.ts';
import { forwardedHeaders, forwardedPath } from './forwarded.ts';
import type { Delivery } from './follow.ts';
import type { Session } from './session.ts';
import { describe } from './text.ts';

export type Attempt =
  | { kind: 'answered'; status: number }
  /** No connection was made: the server has seen nothing. */
  | { kind: 'unreachable'; why: string }
  /** The connection broke before an answer: the server may have seen the request. */
  | { kind: 'broken'; why: string }
  | { kind: 'late'; why: string }
  /** The request cannot be sent as it is. */
  | { kind: 'refused'; why: string }
  | { kind: 'bodiless'; error: unknown };

/** More of an answer is not read; only its status is told. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** Sends a captured request to the local server, once. Redirects are not followed. */
export function forward(delivery: Delivery, { options, cutting }: Session): Promise<Attempt> {
  const { target, keepPath, timeoutMs } = options;
  return new Promise((resolve) => {
    const isTls = target.protocol === 'https:';
    // A connection of its own: one that is used again may close just then. But the server is told that it is kept: it
    // would close one that is not at once after an answer, and cut off a body that it has not read, with the answer.
    const agent = new (isTls ? HttpsAgent : HttpAgent)({ keepAlive: true });
    let bodyError: { error: unknown } | undefined;
    let connected = false;
    const ended = new AbortController();
    const signal = AbortSignal.any([cutting, ended.signal]);
    const timer = setTimeout(() => end({ kind: 'late', why: `no answer within ${timeoutMs / 1_000} s` }), timeoutMs);
    const end = (attempt: Attempt): void => {
      clearTimeout(timer);
      resolve(attempt);
      ended.abort();
      agent.destroy();
    };
    const fail = (error: unknown): void => {
      if (bodyError !== undefined) end({ kind: 'bodiless', ...bodyError });
      else end({ kind: connected ? 'broken' : 'unreachable', why: describe(error) });
    };

    let sent: ClientRequest;
    try {
      sent = (isTls ? requestHttps : requestHttp)(target, {
        method: delivery.method,
        path: forwardedPath(delivery.target, target, keepPath),
        headers: forwardedHeaders(delivery, target.host, options.headers),
        agent,
        signal,
      } as RequestOptions);
    } catch (error) {
      return end({ kind: 'refused', why: describe(error) });
    }
    sent.on('error', fail);
    sent.on('socket', (socket) => socket.once(isTls ? 'secureConnect' : 'connect', () => (connected = true)));
    sent.on('response', (response) => {
      const answered = (): void => end({ kind: 'answered', status: response.statusCode ?? 0 });
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_ANSWER_BYTES) answered();
      });
      response.on('error', answered);
      response.on('close', answered);
    });
    if (delivery.body_truncated !== true) sent.end(Buffer.from(delivery.body, delivery.body_encoding));
    else
      pipeline(
        largeBody(delivery, options, signal, (error) => (bodyError = { error })),
        sent,
        () => {},
      );
  });
}

/** A body that the stream left out, as it comes from Hookbay: no more than a piece of it is in memory. */
async function* largeBody(
  { id, size }: Delivery,
  options: Session['options'],
  signal: AbortSignal,
  onError: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  try {
    const response = await callApi(options, `api/requests/${id}/body`, signal);
    let left = size;
    for await (const chunk of response.body ?? []) {
      left -= chunk.length;
      yield chunk;
    }
    if (left !== 0) throw new Error('the body is not whole');
  } catch (error) {
    onError(error);
    throw error;
  }
}

import { io, type Socket } from 'socket.io-client';
import type { SubscriptionAnswer } from '../../../src/api/live/subscriptions.ts';
import type { LogEntry } from '../../../src/domain/answers.ts';
import { closing } from '../environment.ts';

/** A connected client and the events that it received. */
export interface LiveClient {
  socket: Socket;
  events: LogEntry[];
  /** Close codes and reasons of the connections that were closed. */
  closes: { code: number; reason: string }[];
  /** Messages of refused handshakes. */
  refusals: { message: string; data?: { error: string } }[];
  emit(event: string, message: unknown): Promise<SubscriptionAnswer & { error?: string }>;
  seqs(endpointId?: string): number[];
}

/** Starts connecting as the holder of a token; the socket is closed after the test. */
export function startClient(url: string, token: unknown, options: Parameters<typeof io>[1] = {}): LiveClient {
  const socket = io(url, {
    transports: ['websocket'],
    auth: { token },
    forceNew: true,
    reconnectionDelay: 50,
    reconnectionDelayMax: 500,
    ...options,
  });
  const client: LiveClient = {
    socket,
    events: [],
    closes: [],
    refusals: [],
    emit: (event, message) => socket.timeout(20_000).emitWithAck(event, message),
    seqs: (endpointId) =>
      client.events
        .filter(({ endpoint_id }) => endpointId === undefined || endpoint_id === endpointId)
        .map(({ seq }) => seq),
  };
  socket.on('request', (entry: LogEntry) => client.events.push(entry));
  socket.on('connect_error', (error) => client.refusals.push(error as never));
  socket.on('disconnect', (_reason, details) => {
    const { code, reason } = (details as { context?: { code: number; reason: string } } | undefined)?.context ?? {
      code: 0,
      reason: '',
    };
    client.closes.push({ code, reason });
  });
  return client;
}

/** A connected client, at the first attempt or a later one: an API that has just started may require that. */
export async function connectClient(
  url: string,
  token: unknown,
  options: Parameters<typeof io>[1] = {},
): Promise<LiveClient> {
  const client = closing(startClient(url, token, options), ({ socket }) => void socket.disconnect());
  await new Promise<void>((resolve, reject) => {
    client.socket.once('connect', resolve);
    client.socket.on(
      'connect_error',
      (error) => (client.socket.active && client.socket.io.reconnection()) || reject(error),
    );
  });
  return client;
}

/** A refused handshake; resolves with the error that the client received. */
export async function refusedHandshake(
  url: string,
  token: unknown,
): Promise<{ message: string; data?: { error: string } }> {
  const client = closing(startClient(url, token, { reconnection: false }), ({ socket }) => void socket.disconnect());
  return new Promise((resolve, reject) => {
    client.socket.once('connect', () => reject(new Error('the handshake was accepted')));
    client.socket.once('connect_error', (error) => resolve(error as never));
  });
}

/**
 * Subscribes at each connection from now on, with the result of `message`, as the client in src/api/live/README.md does; a lost
 * connection is followed by another one.
 */
export function catchUpOnConnect(client: LiveClient, endpointId: string): void {
  client.socket.on(
    'connect',
    () => void client.emit('subscribe', { endpointId, after: Math.max(0, ...client.seqs()) }).catch(() => {}),
  );
}

import { createServer, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { Server } from 'socket.io';
import {
  createLiveConnection,
  type Conn,
  type LiveConnection,
  type WebSocketLike,
} from '../../src/api/live/connection.ts';
import { listen } from '../../src/ops/listen.ts';
import { closing } from '../support/environment.ts';
import { startClient } from '../support/live/clients.ts';

const MAX_BYTES = 1_000;

/** The server's side of a connection with a real client. */
async function connection(): Promise<{ conn: Conn; live: LiveConnection }> {
  const http = createServer();
  const server = closing(new Server(http, { transports: ['websocket'] }), (open) => open.close());
  const connected = new Promise<Conn>((resolve) => server.engine.once('connection', resolve));
  const { socket } = closing(
    startClient(`http://127.0.0.1:${await listen(http, '127.0.0.1', 0)}`, ''),
    (client) => void client.socket.disconnect(),
  );
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  const conn = await connected;
  const { websocket } = conn.request as IncomingMessage & { websocket: WebSocketLike };
  return { conn, live: createLiveConnection(conn, websocket, MAX_BYTES) };
}

// The same number of bytes in each, and decreasing numbers of UTF-16 units.
const TEXTS = [
  ['ASCII', 'x'.repeat(600)],
  ['Latin', 'é'.repeat(300)],
  ['a currency', '€'.repeat(200)],
  ['emoji', '😀'.repeat(150)],
] as const;
test.each(TEXTS)('waiting events are counted in bytes: %s', async (_name, text) => {
  const { conn: kept, live: holding } = await connection();
  holding.hold();
  const { conn: sent, live: sending } = await connection();
  const writesUntilCut = (conn: Conn, live: LiveConnection): number => {
    let writes = 0;
    for (; live.closeReason() === undefined && writes < 100; writes += 1) conn.write(text);
    expect(live.closeReason()).toBe('too_slow');
    return writes;
  };
  // Two exceed the bound; the first is sent at once and does not wait.
  expect([writesUntilCut(kept, holding), writesUntilCut(sent, sending)]).toEqual([3, 4]);
});

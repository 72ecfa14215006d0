import { createServer, connect, type Socket } from 'node:net';

/** A proxy to a server that can go silent, as when a node is lost: no data passes, and no connection is closed. */
export interface Proxy {
  port: number;
  /** How many connections are open through it. */
  connections(): number;
  /** Present connections never pass data again; new ones work. */
  silenceExisting(): void;
  breakExisting(): void;
  /** New connections are closed at once, until `takeNew`. */
  refuseNew(): void;
  takeNew(): void;
  /**
   * Until the result is called, a connection breaks as soon as the server answers a message with `text`: the answer is
   * lost. `onLost` is called before.
   */
  loseAnswersTo(text: string, onLost?: () => void): () => void;
  close(): void;
}

/**
 * @param delayMs delay of all data to the server
 * @param port to listen on; 0 = any free one
 */
export async function startProxy(targetPort: number, delayMs = 0, port = 0): Promise<Proxy> {
  const pairs = new Set<[Socket, Socket]>();
  let refusing = false;
  let lost: { text: string; onLost: () => void } | undefined;
  const server = createServer((client) => {
    if (refusing) return client.destroy();
    const upstream = connect(targetPort, '127.0.0.1');
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    client.on('data', (chunk: Buffer) => {
      if (lost === undefined || !chunk.includes(lost.text)) return;
      const { onLost } = lost;
      upstream.unpipe(client).once('data', () => {
        onLost();
        client.destroy();
      });
      upstream.resume();
    });
    if (delayMs === 0) client.pipe(upstream);
    else client.on('data', (chunk: Buffer) => setTimeout(() => upstream.writable && upstream.write(chunk), delayMs));
    upstream.pipe(client);
    for (const socket of pair) {
      socket.on('error', () => {});
      socket.on('close', () => {
        // A silent connection does not report its end.
        if (pairs.delete(pair)) for (const other of pair) other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  const silenced: Socket[] = [];
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    connections: () => pairs.size,
    breakExisting() {
      for (const [client] of pairs) client.destroy();
    },
    refuseNew: () => void (refusing = true),
    takeNew: () => void (refusing = false),
    loseAnswersTo(text, onLost = () => {}) {
      lost = { text, onLost };
      return () => void (lost = undefined);
    },
    silenceExisting() {
      for (const [client, upstream] of pairs) {
        client.unpipe(upstream).pause();
        upstream.unpipe(client).pause();
        silenced.push(client, upstream);
      }
      pairs.clear();
    },
    close() {
      for (const socket of [...silenced, ...[...pairs].flat()]) socket.destroy();
      server.close();
    },
  };
}

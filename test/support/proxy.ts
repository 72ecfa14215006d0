import { createServer, connect, type Socket } from 'node:net';

/** A way to a server that can go silent, as when a node is lost: nothing comes through, and nothing is closed. */
export interface Proxy {
  port: number;
  /** Connections that exist now never carry anything again; new ones work, unless they are refused. */
  silenceExisting(options?: { refuseNew: boolean }): void;
  /** New connections work again. */
  takeNew(): void;
  /** Connections break as soon as the server answers a message that holds `text`: the answer is lost. */
  loseAnswersTo(text: string): void;
  close(): void;
}

/** @param delayMs how much later than it was sent everything gets to the server */
export async function startProxy(targetPort: number, delayMs = 0): Promise<Proxy> {
  const pairs = new Set<[Socket, Socket]>();
  let refusing = false;
  let lost: string | undefined;
  const server = createServer((client) => {
    if (refusing) return client.destroy();
    const upstream = connect(targetPort, '127.0.0.1');
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    client.on('data', (chunk: Buffer) => {
      if (lost === undefined || !chunk.includes(lost)) return;
      upstream.unpipe(client).once('data', () => client.destroy());
    });
    if (delayMs === 0) client.pipe(upstream);
    else client.on('data', (chunk: Buffer) => setTimeout(() => upstream.writable && upstream.write(chunk), delayMs));
    upstream.pipe(client);
    for (const socket of pair) {
      socket.on('error', () => {});
      socket.on('close', () => {
        // What is silent tells nobody of its end.
        if (pairs.delete(pair)) for (const other of pair) other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const silenced: Socket[] = [];
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    takeNew: () => void (refusing = false),
    loseAnswersTo: (text) => void (lost = text),
    silenceExisting({ refuseNew } = { refuseNew: false }) {
      refusing = refuseNew;
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

import { createServer, connect, type Socket } from 'node:net';

/** A way to a server that can go silent, as when a node is lost: nothing comes through, and nothing is closed. */
export interface Proxy {
  port: number;
  /** Connections that exist now never carry anything again; new ones work. */
  silenceExisting(): void;
  close(): void;
}

/**
 * @param delayMs how much later than it was sent everything gets to the server
 * @param port where it listens; 0 = any that is free
 */
export async function startProxy(targetPort: number, delayMs = 0, port = 0): Promise<Proxy> {
  const pairs = new Set<[Socket, Socket]>();
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1');
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
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
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  const silenced: Socket[] = [];
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
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

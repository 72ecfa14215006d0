import type { Server } from 'node:http';

/**
 * Listens; resolves with the port (chosen by the system when `port` is 0).
 * @throws Error with code EADDRINUSE when the port is in use
 */
export function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

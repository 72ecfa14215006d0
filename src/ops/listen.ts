import type { Server } from 'node:http';

/**
 * Listens; resolves with the port (another than asked for when that was 0).
 *
 * @throws Error with code EADDRINUSE when somebody else has the port
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

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** Listens on a free port of loopback and reports it to the parent; the process ends with its channel. */
export function listen(answer: (request: IncomingMessage, response: ServerResponse) => void): void {
  const server = createServer(answer);
  process.on('disconnect', () => process.exit());
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0 });
  });
}

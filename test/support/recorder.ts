import { createServer } from 'node:http';
import { listen } from '../../src/ops/listen.ts';
import { closing } from './environment.ts';

export interface Recorded {
  method: string;
  target: string;
  rawHeaders: string[];
  body: Buffer;
}

/** A server that keeps what it is sent, to the byte, until the running test ends. */
export async function startRecorder(): Promise<{ url: string; port: number; recorded: Recorded[] }> {
  const recorded: Recorded[] = [];
  const server = createServer({ requireHostHeader: false, maxHeaderSize: 128 * 1024 }, (req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const { method = '', url: target = '', rawHeaders } = req;
      recorded.push({ method, target, rawHeaders, body: Buffer.concat(chunks) });
      // curl reads the answer to a HEAD with a body up to the end of the connection.
      res.setHeader('Connection', 'close').end();
    });
  });
  server.maxHeadersCount = 0;
  closing(server, (open) => {
    open.closeAllConnections();
    open.close();
  });
  const port = await listen(server, '127.0.0.1', 0);
  return { url: `http://127.0.0.1:${port}`, port, recorded };
}

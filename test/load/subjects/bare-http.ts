/* The least that a receipt can cost: reads the body and answers. */
import { randomUUID } from 'node:crypto';
import { listen } from './listen.ts';

listen((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    Buffer.concat(chunks);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.end(JSON.stringify({ received: true, id: randomUUID(), timestamp: Date.now() }));
  });
});

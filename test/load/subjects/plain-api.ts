/* The pipeline that most people would write: each capture is a job of its own. */
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import Koa from 'koa';
import { v7 as uuidv7 } from 'uuid';
import { listen } from './listen.ts';
import { PLAIN_QUEUE, type PlainCapture } from './plain-capture.ts';
import { readBody } from './read-body.ts';

const redis = new Redis(process.env['PLAIN_REDIS'] as string, { maxRetriesPerRequest: null });
const queue = new Queue<PlainCapture>(PLAIN_QUEUE, {
  connection: redis,
  defaultJobOptions: { attempts: 5, backoff: { type: 'exponential', delay: 1_000 }, removeOnComplete: true },
});

const app = new Koa();
app.use(async (ctx) => {
  const capture: PlainCapture = {
    id: uuidv7(),
    endpointId: ctx.path.split('/')[2] ?? '',
    method: ctx.method,
    path: ctx.path,
    headers: ctx.headers,
    ip: ctx.ip,
    body: (await readBody(ctx.req)).toString('utf8'),
  };
  await queue.add('capture', capture);
  ctx.body = { received: true, id: capture.id, timestamp: Date.now() };
});
await queue.waitUntilReady();
const answer = app.callback();
listen((request, response) => void answer(request, response));

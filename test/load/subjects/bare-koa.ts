/* The same receipt from Koa. */
import { randomUUID } from 'node:crypto';
import Koa from 'koa';
import { listen } from './listen.ts';
import { readBody } from './read-body.ts';

const app = new Koa();
app.use(async (ctx) => {
  await readBody(ctx.req);
  ctx.body = { received: true, id: randomUUID(), timestamp: Date.now() };
});
const answer = app.callback();
listen((request, response) => void answer(request, response));

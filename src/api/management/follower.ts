import type { Context } from 'koa';
import { isUuid } from '../../domain/ids.ts';
import { SenderGone } from '../http/body.ts';
import { notFound } from '../http/errors.ts';

const MAX_LISTENERS = 20;

/** The id of the endpoint in the path, in the spelling of our channels. */
export function endpointIdOf(ctx: Context & { params: Record<string, string> }): string {
  const id = ctx.params['id'] ?? '';
  if (!isUuid(id)) throw notFound();
  return id.toLowerCase();
}

/**
 * Calls `onGone` when the answer is sent or the client has disconnected, and before that `onHalfClosed` when the client
 * says that it sends nothing more: it may have disconnected, which only writes show.
 * @throws SenderGone when the client has disconnected already
 */
export function watchClient(ctx: Context, onGone: () => void, onHalfClosed: () => void): void {
  if (ctx.res.closed) throw new SenderGone();
  ctx.res.setMaxListeners(MAX_LISTENERS);
  const { socket } = ctx.req;
  ctx.res.once('close', () => {
    socket.off('end', onHalfClosed);
    onGone();
  });
  if (socket.readableEnded) onHalfClosed();
  else socket.once('end', onHalfClosed);
}

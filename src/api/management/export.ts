import { Readable } from 'node:stream';
import type { Router } from '@koa/router';
import type { Context } from 'koa';
import type { StoredRequest } from '../../domain/captured-request.ts';
import { curlCommand } from '../../domain/export/curl.ts';
import { formatOf, type ExportFormat } from '../../domain/export/format.ts';
import { HAR_START, harEnd, harEntry } from '../../domain/export/har.ts';
import { httpMessage } from '../../domain/export/http-message.ts';
import { isUuid } from '../../domain/ids.ts';
import { holderOf } from '../../domain/share.ts';
import { describeError, type Log } from '../../log.ts';
import { findEndpoint } from '../../store/endpoints.ts';
import { bearerToken, principal, type AuthOptions } from '../auth/token.ts';
import { TOKEN_RECHECK_MS, watchToken } from '../auth/token-watch.ts';
import { SenderGone } from '../http/body.ts';
import { notFound } from '../http/errors.ts';
import { requestIdOf } from '../http/request-log.ts';
import { validate } from '../http/validate.ts';
import { answerPieces, attach, noMemory } from './answers.ts';
import { entriesOf, PAGE_BYTES, type EntrySource } from './export-entries.ts';
import { entryExportQuery, exportQuery, type EntryFormat } from './export-operations.ts';
import { MAX_EXPORT_MS, type ExportSlots } from './export-slots.ts';
import { exportText } from './export-text.ts';
import { filterOf } from './filter-query.ts';
import { findOwnedRequest, readerOf, type EntryOptions } from './requests.ts';

export interface ExportRouteOptions extends EntryOptions, AuthOptions {
  exports: ExportSlots;
  baseUrl: string;
  log: Log;
}

export function exportRoutes(router: Router, options: ExportRouteOptions): void {
  const { db, inFlight, answers, exports, baseUrl, log } = options;

  router.get('/api/endpoints/:id/export', async (ctx) => {
    const reader = readerOf(ctx);
    const endpointId = ctx.params['id'] ?? '';
    if (!isUuid(endpointId)) throw notFound();
    const { format: name, after, ...filter } = validate(exportQuery, ctx.query);
    await inFlight.settleForRead(ctx);
    const endpoint = await findEndpoint(db.knex, reader.userId, endpointId);
    if (endpoint === undefined) throw notFound();
    const owner = { userId: holderOf(principal(ctx)) };
    await hold(ctx);
    const format = formatOf(name, baseUrl);
    attach(ctx, format.mediaType, name);
    const { queued } = exports;
    // What comes later is for the next export; otherwise a busy endpoint would keep this one going.
    const upTo = endpoint.requestCount;
    stream(ctx, format, { db, reader, endpointId, filter: filterOf(filter), after, upTo, answers, owner, queued });
  });

  router.get('/api/requests/:id/export', async (ctx) => {
    const { format } = validate(entryExportQuery, ctx.query);
    const entry = await findOwnedRequest(ctx, options);
    attach(ctx, ENTRY_FILES[format].mediaType, ENTRY_FILES[format].extension);
    answerPieces(ctx, ENTRY_FILES[format].pieces(entry, baseUrl));
  });

  /**
   * Takes a slot and the memory of a page until the answer is closed.
   * @throws HttpError 429, 503; SenderGone when the client has disconnected
   */
  async function hold(ctx: Context): Promise<void> {
    const owner = { userId: holderOf(principal(ctx)) };
    const slot = await exports.take(owner.userId, () => ctx.res.destroy());
    const memory = answers.open(owner);
    const release = (): void => {
      memory.release();
      void slot.free();
    };
    // With the stream's own listeners there are more than Node takes for normal.
    ctx.res.setMaxListeners(20).once('close', release);
    if (!ctx.res.closed && memory.take(PAGE_BYTES)) return;
    release();
    throw ctx.res.closed ? new SenderGone() : noMemory();
  }

  /** Ends early, and says so, when its time is up, its token expires or is withdrawn, or the process stops. */
  function stream(ctx: Context, format: ExportFormat, source: EntrySource): void {
    const deadline = Date.now() + MAX_EXPORT_MS;
    const { expiresAt } = principal(ctx);
    let admitted = Date.now() < expiresAt;
    const stopWatching = watchToken(
      { token: bearerToken(ctx), expiresAt, auth: options, recheckMs: TOKEN_RECHECK_MS },
      () => {
        admitted = false;
      },
    );
    ctx.res.once('close', stopWatching);
    const { after, upTo } = source;
    const mayGoOn = (): boolean => admitted && Date.now() < deadline && !exports.stopping();
    const text = Readable.from(exportText(format, entriesOf(source), { after, upTo, mayGoOn }), { objectMode: false });
    // The connection is destroyed with it: what the client has is not taken for the whole.
    text.on('error', (error) =>
      log.warn({ requestId: requestIdOf(ctx), error: describeError(error) }, 'An export broke off'),
    );
    ctx.body = text;
  }
}

interface EntryFile {
  mediaType: string;
  extension: string;
  pieces: (entry: StoredRequest, baseUrl: string) => Iterable<string | Buffer>;
}

const ENTRY_FILES: Record<EntryFormat, EntryFile> = {
  curl: { mediaType: 'text/plain; charset=utf-8', extension: 'sh', pieces: curlCommand },
  har: { mediaType: 'application/json', extension: 'har', pieces: harOf },
  http: { mediaType: 'message/http', extension: 'http', pieces: httpMessage },
};

function* harOf(entry: StoredRequest, baseUrl: string): Generator<string> {
  yield HAR_START;
  yield* harEntry(entry, baseUrl);
  yield harEnd({ count: 1, next: entry.seq, more: false });
}

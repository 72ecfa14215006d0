import { randomBytes } from 'node:crypto';
import type { Router } from '@koa/router';
import type { Context } from 'koa';
import type { CustomResponses } from '../../domain/custom-response.ts';
import { notFound } from '../http/errors.ts';
import { createEncoded, encode, encodingFor, type Encoding } from './encode.ts';
import { readPageFiles } from './files.ts';
import { pageTemplate } from './html.ts';

export interface PageOptions {
  page: boolean;
  baseUrl: string;
  captureBaseUrl: string | undefined;
  live: { enabled: boolean };
  customResponses: CustomResponses;
}

const NONCE_BYTES = 16;

/** At the address that browsers try on their own: the policy below lets the page name no icon. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#2557a7"/>' +
  '<path d="M5 3v10M11 3v6a3 3 0 0 1-6 0" fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>\n';

/** Scripts by nonce, not by `'self'`: what users let the API answer below /h/ is of the same origin. */
function contentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'self'",
    'img-src blob:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

/**
 * GET /, the same at the address of share links, and the scripts and styles that it names. They are public: they hold
 * nothing of any user.
 */
export function pageRoutes(router: Router, options: PageOptions): void {
  if (!options.page) return;
  const files = readPageFiles();
  const template = pageTemplate(files, {
    captureBaseUrl: options.captureBaseUrl ?? options.baseUrl,
    capturesHere: options.captureBaseUrl === undefined,
    live: options.live.enabled,
    customResponses: options.customResponses,
  });
  const encoded = new Map([...files.byPath].map(([path, { content }]) => [path, createEncoded(content)]));

  router.get(['/', '/s'], async (ctx) => {
    // The router takes `//` and `/s/`, too: there the page's relative addresses would lead nowhere.
    if (ctx.path !== '/' && ctx.path !== '/s') throw notFound();
    const nonce = randomBytes(NONCE_BYTES).toString('base64');
    ctx.set({
      'Content-Security-Policy': contentSecurityPolicy(nonce),
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Referrer-Policy': 'no-referrer',
      'X-Robots-Tag': 'noindex',
    });
    ctx.type = 'text/html; charset=utf-8';
    const encoding = encodingFor(ctx);
    ctx.body = await encode(template(nonce), encoding);
    setEncoding(ctx, encoding);
  });

  router.get('/favicon.ico', (ctx) => {
    ctx.set({ 'Cache-Control': 'public, max-age=86400', 'Content-Security-Policy': "default-src 'none'" });
    ctx.type = 'image/svg+xml';
    ctx.body = ICON;
  });

  router.get('/page/:hash/{*file}', async (ctx) => {
    const path = ctx.params['file'] ?? '';
    const [file, bytes] = [files.byPath.get(path), encoded.get(path)];
    if (file === undefined || bytes === undefined) throw notFound();
    const encoding = encodingFor(ctx);
    ctx.body = await bytes(encoding);
    // During a rollout the HTML may be of another version than this process: its address must not keep our file.
    if (ctx.params['hash'] === files.hash) ctx.set('Cache-Control', 'public, max-age=31536000, immutable');
    // The first load has dozens of these heads, so each byte of them counts.
    ctx.remove('X-Request-Id');
    setEncoding(ctx, encoding);
    ctx.set('Content-Type', file.type);
  });
}

function setEncoding(ctx: Context, encoding: Encoding | undefined): void {
  ctx.vary('Accept-Encoding');
  if (encoding !== undefined) ctx.set('Content-Encoding', encoding);
}

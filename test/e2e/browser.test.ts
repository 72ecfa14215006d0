import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBrowser } from '../../src/local/programs.ts';
import { client, mintToken, type Client } from '../support/client.ts';
import { closing, eventually, openEnvironment, type Environment } from '../support/environment.ts';

/*
 * What a real browser lets a page below /h do to the origin of the management API, on which a page may keep a token:
 * nothing. Each document tries everything, and says in the console that it runs.
 */
const RAN = 'the script of a custom response runs';

let environment: Environment;
let browser: Browser;
let url: string;
let owner: Client;

/** Without one the test is skipped, which in CI is a failure. */
const executablePath = findBrowser();

beforeAll(async () => {
  if (executablePath === undefined) return;
  environment = await openEnvironment();
  await environment.startWorker();
  ({ url } = await environment.startApi({ CUSTOM_RESPONSES: 'redirects' }));
  owner = client(url, mintToken('ann'));
  // Chromium's own sandbox does not start for root, nor in most containers.
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
});
afterAll(async () => {
  await browser?.close();
  await environment?.close();
});

interface Response {
  type: string;
  body: string;
  headers?: Record<string, string>;
  status?: number;
}

async function endpointWith({ type, body, headers = {}, status = 200 }: Response): Promise<string> {
  const { id } = (await owner.create()).body;
  const response = { status, body, headers: { 'Content-Type': type, ...headers } };
  expect((await owner.call('PUT', `/api/endpoints/${id}/response`, response)).status).toBe(200);
  return id;
}

/** A browser that has been on the origin of the management API, and keeps something there. */
async function visitor(origin = url): Promise<{ context: BrowserContext; page: Page; said: string[] }> {
  const context = closing(await browser.newContext(), (open) => open.close());
  const page = await context.newPage();
  const said: string[] = [];
  context.on('console', (message) => said.push(message.text()));
  await page.goto(`${origin}/openapi.json`);
  await page.evaluate("localStorage.setItem('token', 'secret'); document.cookie = 'session=mine; path=/'");
  return { context, page, said };
}

/** What the origin keeps in this browser. */
async function kept(context: BrowserContext, origin = url): Promise<unknown> {
  const page = await context.newPage();
  await page.goto(`${origin}/openapi.json`);
  return page.evaluate(`(async () => ({
    storage: { ...localStorage },
    cookie: document.cookie,
    workers: (await navigator.serviceWorker.getRegistrations()).length,
    caches: await caches.keys(),
    databases: (await indexedDB.databases()).length,
  }))()`);
}

/** Whether a frame of an address is of another origin. */
const showInFrame = (address: string): string => `(async () => {
  const frame = document.createElement('iframe');
  frame.src = '${address}';
  const loaded = new Promise((resolve) => frame.addEventListener('load', resolve));
  document.body.append(frame);
  await loaded;
  return frame.contentDocument === null;
})()`;

const registerWorker = (address: string): string => `navigator.serviceWorker
  .register('${address}', { scope: '/' })
  .then(() => 'registered', (error) => error.name)`;

const UNTOUCHED = { storage: { token: 'secret' }, cookie: 'session=mine', workers: 0, caches: [], databases: 0 };

/** Everything that a script could do, to the origin and to an endpoint that collects it. */
const script = (collector: string, worker: string): string => `
  console.log('${RAN}');
  try { document.cookie = 'session=theirs; path=/'; } catch {}
  try { localStorage.setItem('token', 'theirs'); } catch {}
  try { caches.open('theirs'); } catch {}
  try { indexedDB.open('theirs'); } catch {}
  try { navigator.serviceWorker.register('/h/${worker}', { scope: '/h/' }); } catch {}
  try { fetch('/h/${collector}?' + localStorage.getItem('token')); } catch {}
`;

describe.skipIf(executablePath === undefined)('a page below /h in a browser', () => {
  const documents: [string, string, (script: string) => string][] = [
    ['HTML', 'text/html', (code) => `<!doctype html><title>x</title><script>${code}</script>`],
    ['HTML with handlers', 'text/html', (code) => `<body onload="${code}"><img src="x" onerror="${code}">`],
    ['HTML with a frame', 'text/html', (code) => `<iframe srcdoc="<script>${code}</script>"></iframe>`],
    ['HTML that loads it', 'text/html', (code) => `<script src="data:text/javascript,${encodeURI(code)}"></script>`],
    ['SVG', 'image/svg+xml', (code) => `<svg xmlns="http://www.w3.org/2000/svg"><script>${code}</script></svg>`],
    [
      'XHTML',
      'application/xhtml+xml',
      (code) => `<html xmlns="http://www.w3.org/1999/xhtml"><body><script>${code}</script></body></html>`,
    ],
  ];

  test.each(documents)('%s runs no script, and changes nothing of the origin', async (_name, type, documentOf) => {
    const collector = await endpointWith({ type: 'text/plain', body: 'collected' });
    const worker = await endpointWith({ type: 'text/javascript', body: 'self.skipWaiting()' });
    const body = documentOf(script(collector, worker));
    const id = await endpointWith({ type, body });
    const { context, page, said } = await visitor();
    // As a page of its own, in a window that this one opens, and in a frame of it.
    await page.goto(`${url}/h/${id}`);
    await page.goto(`${url}/openapi.json`);
    const [opened] = await Promise.all([
      context.waitForEvent('page'),
      page.evaluate(`void window.open('${url}/h/${id}')`),
    ]);
    await opened.waitForLoadState();
    expect(await page.evaluate(showInFrame(`${url}/h/${id}`))).toBe(true);
    expect(await kept(context)).toEqual(UNTOUCHED);
    expect(said.filter((text) => text.includes(RAN) && !text.includes('Blocked'))).toEqual([]);
    expect((await owner.list(collector)).body.total).toBe(0);
    expect((await owner.list(id)).body.total).toBe(3);
  });

  test('the same documents do all that where nothing prevents it, so the test above would notice', async () => {
    const collected: string[] = [];
    let page = '';
    const bare = createServer((req, res) => {
      if (req.url?.startsWith('/h/collector')) collected.push(req.url);
      const isWorker = req.url === '/h/worker';
      res.setHeader('Content-Type', isWorker ? 'text/javascript' : req.url === '/h/page' ? 'text/html' : 'text/plain');
      res.end(isWorker ? '' : page);
    });
    closing(bare, (server) => void server.close());
    await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(bare.address() as AddressInfo).port}`;
    const { context, page: visiting, said } = await visitor(origin);
    page = `<script>${script('collector', 'worker').replace("{ scope: '/h/' }", '{}')}</script>`;
    await visiting.goto(`${origin}/h/page`);
    await eventually(async () => {
      const state = (await kept(context, origin)) as typeof UNTOUCHED;
      return state.workers === 1 && state.databases === 1;
    });
    expect(await kept(context, origin)).toMatchObject({ storage: { token: 'theirs' }, cookie: 'session=theirs' });
    expect([said.includes(RAN), collected]).toEqual([true, ['/h/collector?theirs']]);
    await context.close();
    bare.closeAllConnections();
  });

  test.each([
    ['text that looks like HTML', { type: 'text/plain', body: `<script>console.log('${RAN}')</script>` }],
    ['JSON that looks like HTML', { type: 'application/json', body: `"<script>console.log('${RAN}')</script>"` }],
    ['an unknown type', { type: 'x/y', body: `<script>console.log('${RAN}')</script>`, status: 500 }],
    [
      'a meta refresh and a cookie in HTML',
      {
        type: 'text/html',
        body: `<meta http-equiv="refresh" content="0;url=/h/nobody">
               <meta http-equiv="set-cookie" content="session=theirs">`,
      },
    ],
    [
      'a redirect to a script',
      { type: 'text/plain', body: '', status: 302, headers: { Location: `javascript:console.log('${RAN}')` } },
    ],
  ])('%s does nothing either', async (_name, response: Response) => {
    const id = await endpointWith(response);
    const { context, page, said } = await visitor();
    // A download, or an address that is refused, ends the navigation with an error.
    await page.goto(`${url}/h/${id}`).catch(() => {});
    expect(await kept(context)).toEqual(UNTOUCHED);
    expect(said.filter((text) => text.includes(RAN) && !/refused|blocked/i.test(text))).toEqual([]);
    expect(page.url()).not.toContain('nobody');
  });

  test('a form in it cannot be sent, and no worker of the origin can be made of it', async () => {
    const collector = await endpointWith({ type: 'text/plain', body: 'collected' });
    const id = await endpointWith({
      type: 'text/html',
      body: `<form method="post" action="/h/${collector}"><button autofocus>go</button></form>`,
    });
    const worker = await endpointWith({ type: 'text/javascript', body: '' });
    const { context, page } = await visitor();
    await page.goto(`${url}/h/${id}`);
    await page.keyboard.press('Enter');
    await page.goto(`${url}/openapi.json`);
    expect(await page.evaluate(registerWorker(`/h/${worker}`))).toBe('SecurityError');
    expect(await kept(context)).toEqual(UNTOUCHED);
    expect((await owner.list(collector)).body.total).toBe(0);
  });
});

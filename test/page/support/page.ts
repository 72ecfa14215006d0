import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { freePort } from '../../../src/local/private-server.ts';
import { findBrowser } from '../../../src/local/programs.ts';
import { captureOne, client, mintToken, type Client, type Receipt, type send } from '../../support/client.ts';
import { closing, eventually, openEnvironment, type Environment } from '../../support/environment.ts';

/* A real browser on a real API: what every test of the page begins with. */

const executablePath = findBrowser();

/** For all tests of a page: without a browser they are skipped, which in CI is a failure. */
export const describePage = describe.skipIf(executablePath === undefined);

const TIMEOUT_MS = 60_000;
const DESKTOP = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };

export interface OpenOptions extends BrowserContextOptions {
  /** After the sign-in; like `/#/e/<endpoint>`. */
  path?: string;
  /** Of the owner by default; null = not signed in. */
  token?: string | null;
  /** Called with the tab before it loads anything. */
  prepare?: (page: Page) => Promise<void>;
}

export interface PageTests {
  environment: Environment;
  browser: Browser;
  /** The address of the API, and so of the page; also after a restart. */
  url: string;
  /** Of the user `ann`, plan `pro`. */
  token: string;
  owner: Client;
  startApi(extra?: Record<string, string>): Promise<void>;
  stopApi(): Promise<void>;
  startWorker(): Promise<void>;
  stopWorker(): Promise<void>;
  /** Sends a webhook to an endpoint and expects a receipt. */
  capture(key: string, options?: Parameters<typeof send>[1]): Promise<Receipt>;
  /** A tab in a context of its own, closed after the test. */
  open(options?: OpenOptions): Promise<Page>;
  /** Waits until the browser complains like this. Any complaint that no test waits for fails the test. */
  expectComplaint(pattern: RegExp): Promise<void>;
}

/**
 * Opens an environment and a browser before the tests of a file. After each test it fails on errors and warnings in
 * the console, uncaught errors and reports of the policy.
 */
export function usePage(begin: (tests: PageTests) => Promise<void> | void, extra: Record<string, string> = {}): void {
  const complaints: string[] = [];
  let environment: Environment | undefined;
  let browser: Browser | undefined;

  beforeAll(async () => {
    if (executablePath === undefined) return;
    environment = await openEnvironment();
    // Chromium's own sandbox does not start for root, nor in most containers.
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    await begin(await startTests(environment, browser, complaints, extra));
  });
  afterEach(() => {
    expect(complaints.splice(0), 'complaints of the browser').toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await environment?.close();
  });
}

async function startTests(
  environment: Environment,
  browser: Browser,
  complaints: string[],
  extra: Record<string, string>,
): Promise<PageTests> {
  // The page shows URLs of endpoints, so they have to be those of the API: the port is chosen before it listens.
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const token = mintToken('ann');
  let api: { stop(): Promise<void> } | undefined;
  let worker: { stop(): Promise<void> } | undefined;
  const tests: PageTests = {
    environment,
    browser,
    url,
    token,
    owner: client(url, token),
    async startApi(more = {}) {
      api = await environment.startApi({ BASE_URL: url, ...extra, ...more, PORT: String(port) });
    },
    async stopApi() {
      await api?.stop();
    },
    async startWorker() {
      worker = await environment.startWorker(extra);
    },
    async stopWorker() {
      await worker?.stop();
    },
    capture: (key, options) => captureOne(url, key, options),
    async open({ path = '/', token: own = token, prepare, ...options } = {}) {
      const context = closing(await browser.newContext({ viewport: DESKTOP, ...options }), (open) => open.close());
      collectComplaints(context, complaints);
      const page = await context.newPage();
      page.setDefaultTimeout(TIMEOUT_MS);
      await prepare?.(page);
      if (own !== null) {
        await page.goto(`${url}/#token=${own}`);
        await page.waitForURL((address) => !address.hash.includes('token='));
      }
      if (own === null || path !== '/') await page.goto(`${url}${path}`);
      return page;
    },
    async expectComplaint(pattern) {
      await eventually(() => complaints.some((text) => pattern.test(text)));
      const others = complaints.filter((text) => !pattern.test(text));
      complaints.splice(0, complaints.length, ...others);
    },
  };
  await tests.startWorker();
  await tests.startApi();
  return tests;
}

/** Of all tabs, also of those that a page opens. A broken policy is an error in the console. */
function collectComplaints(context: BrowserContext, complaints: string[]): void {
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  context.on('weberror', (error) => complaints.push(`uncaught: ${String(error.error())}`));
}

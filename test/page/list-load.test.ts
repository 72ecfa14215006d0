import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Page } from 'playwright-core';
import { beforeEach, expect, test } from 'vitest';
import { say } from '../../src/local/progress.ts';
import { closing } from '../support/environment.ts';
import { describePage, usePage, type PageTests } from './support/page.ts';
import { store } from './support/list.ts';
import { percentile } from '../support/statistics.ts';

const ENTRIES = 10_000;
const PER_SECOND = 500;
const SECONDS = 10;

/** What the page noted while requests arrived. */
interface Noted {
  /** From when the page was told of a request until its row was in the document, in milliseconds. */
  shown: number[];
  longTasks: number[];
  mostRows: number;
  frames: number;
}

describePage('the list under load', () => {
  let tests: PageTests;
  let endpoint: string;

  usePage((opened) => void (tests = opened));
  beforeEach(async () => {
    endpoint = (await tests.owner.create({ permanent: true })).body.id;
  });

  test('12 10,000 rows and 500 arrivals a second hold up neither the page nor the rows', async () => {
    await store(tests, endpoint, ENTRIES);
    const page = await tests.open();
    await noteArrivals(page);
    await page.goto(`${tests.url}/#/e/${endpoint}`);
    await page.reload();
    await loadAll(page);
    await note(page);
    await sendFor(`${tests.url}/h/${endpoint}`);
    const noted = await page.evaluate(() => (globalThis as unknown as { noted: Noted }).noted);
    const p50 = percentile(noted.shown, 0.5);
    const longest = Math.max(0, ...noted.longTasks);
    say(
      [
        `${noted.shown.length} rows seen, emit to row p50 ${p50.toFixed(0)} ms, p99 ${percentile(noted.shown, 0.99).toFixed(0)} ms`,
        `${noted.longTasks.length} long tasks, the longest of ${longest.toFixed(0)} ms`,
        `${noted.frames / SECONDS} frames a second, at most ${noted.mostRows} rows in the document`,
      ].join('; '),
    );
    expect(noted.mostRows).toBeLessThanOrEqual(60);
    expect(noted.shown.length).toBeGreaterThan(100);
    expect(longest).toBeLessThan(200);
    expect(p50).toBeLessThan(100);
  });
});

/** Notes when each event comes in from the socket, by the id in it, before any code of the page sees it. */
async function noteArrivals(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const arrived = new Map<string, number>();
    Object.assign(globalThis, { arrived });
    const Native = WebSocket;
    globalThis.WebSocket = class extends Native {
      constructor(url: string | URL, protocols?: string | string[]) {
        super(url, protocols);
        this.addEventListener('message', ({ data }) => {
          const id = typeof data === 'string' ? /^42\["request",\{"id":"([^"]+)"/.exec(data)?.[1] : undefined;
          if (id !== undefined) arrived.set(id, performance.now());
        });
      }
    };
  });
}

async function loadAll(page: Page): Promise<void> {
  const list = page.getByRole('listbox', { name: 'Requests' });
  await list.waitFor();
  while (!(await page.getByText(`${ENTRIES.toLocaleString('en')} requests`).isVisible()))
    await list.evaluate(async (element) => {
      element.parentElement?.scrollTo({ top: element.scrollHeight });
      await new Promise(requestAnimationFrame);
    });
  await list.evaluate((element) => element.parentElement?.scrollTo({ top: 0 }));
  await page.locator('[aria-posinset="1"]').waitFor();
}

async function note(page: Page): Promise<void> {
  await page.evaluate(() => {
    const { arrived } = globalThis as unknown as { arrived: Map<string, number> };
    const noted: Noted = { shown: [], longTasks: [], mostRows: 0, frames: 0 };
    Object.assign(globalThis, { noted });
    new PerformanceObserver((tasks) => {
      for (const { duration } of tasks.getEntries()) noted.longTasks.push(duration);
    }).observe({ entryTypes: ['longtask'] });
    new MutationObserver((changes) => {
      const now = performance.now();
      for (const { addedNodes } of changes)
        for (const node of addedNodes) {
          const at = node instanceof HTMLElement ? arrived.get(node.id.replace('row-', '')) : undefined;
          if (at !== undefined) noted.shown.push(now - at);
        }
      noted.mostRows = Math.max(noted.mostRows, document.querySelectorAll('[role=listbox] [role=option]').length);
    }).observe(document.querySelector('[role=listbox]')!, { childList: true, subtree: true });
    const frame = (): void => {
      noted.frames += 1;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
}

/** Sends from a process of its own, so that this one, where the API runs, has time for that. */
async function sendFor(url: string): Promise<void> {
  const sender = fork(new URL('support/sender.mjs', import.meta.url), [url, String(PER_SECOND), String(SECONDS)]);
  closing(sender, (child) => void child.kill());
  const [code] = await once(sender, 'exit');
  expect(code).toBe(0);
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Page, WebSocketRoute } from 'playwright-core';
import { expect, test } from 'vitest';
import { connectClient } from '../support/live/clients.ts';
import { send } from '../support/client.ts';
import { describePage, usePage, type PageTests } from './support/page.ts';
import { percentile } from '../support/statistics.ts';

let tests: PageTests;
usePage((opened) => {
  tests = opened;
});

const newEndpoint = async (): Promise<string> => (await tests.owner.create()).body.id;

/** A page on an endpoint, which is live. */
async function openLive(id: string): Promise<Page> {
  const page = await tests.open({ path: `/#/e/${id}` });
  await expect.poll(() => stateOf(page)).toBe('live');
  return page;
}

/** A page whose WebSocket goes through `between`. */
const openThrough = (id: string, between: (route: WebSocketRoute) => void): Promise<Page> =>
  tests.open({ path: `/#/e/${id}`, prepare: (page) => page.routeWebSocket(/socket\.io/, between) });

const stateOf = (page: Page): Promise<string | null> => page.locator('.status').getAttribute('data-state');

/** Sends so many webhooks, each until it has its receipt. */
async function captureMany(id: string, count: number, url = tests.url): Promise<void> {
  let next = 0;
  const connection = async (): Promise<void> => {
    while (next < count) {
      const body = `{"n":${(next += 1)}}`;
      for (;;) {
        const answer = await send(`${url}/h/${id}`, { method: 'POST', body }).catch(() => undefined);
        if (answer?.status === 200) break;
        await sleep(50);
      }
    }
  };
  await Promise.all(Array.from({ length: 32 }, connection));
}

/** The ids of all rows from top to bottom: only those in view are in the document, so this scrolls through the list. */
async function rowsOf(page: Page): Promise<string[]> {
  const ids = await page.locator('.rows').evaluate(async (box) => {
    const found = new Map<number, string>();
    for (let top = 0; ; top += box.clientHeight / 2) {
      box.scrollTop = top;
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      for (const row of box.querySelectorAll('[role=option]'))
        found.set(Number(row.getAttribute('aria-posinset')), row.id.replace(/^row-/, ''));
      if (top >= box.scrollHeight) break;
    }
    box.scrollTop = 0;
    return [...found].toSorted(([a], [b]) => a - b).map(([, id]) => id);
  });
  return ids;
}

/** The ids of all entries, in the opposite order of `seq`. */
async function storedIds(id: string): Promise<string[]> {
  const all = [];
  for (let before = ''; ;) {
    const { requests } = (await tests.owner.list(id, `?limit=200&bodyBytes=0${before}`)).body;
    all.push(...requests);
    if (requests.length < 200) break;
    before = `&before=${requests.at(-1)?.id}`;
  }
  return all.toSorted((a, b) => b.seq - a.seq).map((entry) => entry.id);
}

/** Every state that the page says from now on, each once in a row. */
async function watchStates(page: Page): Promise<() => Promise<string[]>> {
  await page.locator('.status').evaluate((status) => {
    const said: string[] = [];
    Object.assign(globalThis, { said });
    const note = (): void => {
      const state = status.getAttribute('data-state') ?? '';
      if (said.at(-1) !== state) said.push(state);
    };
    note();
    new MutationObserver(note).observe(status, { attributes: true });
  });
  return () => page.evaluate(() => (globalThis as unknown as { said: string[] }).said);
}

describePage('the live list', () => {
  test('8 a capture is a row within 300 ms of its event', async () => {
    const id = await newEndpoint();
    await tests.capture(id);
    const page = await openLive(id);
    await page.evaluate(() => {
      const seen: Record<string, number> = {};
      Object.assign(globalThis, { seen });
      new MutationObserver(() => {
        for (const { id: row } of document.querySelectorAll('[role=option]')) seen[row] ??= Date.now();
      }).observe(document.body, { childList: true, subtree: true });
    });
    const bare = await connectClient(tests.url, tests.token);
    const arrived: Record<string, number> = {};
    bare.socket.on('request', (entry: { id: string }) => void (arrived[entry.id] = Date.now()));
    const sent: Record<string, number> = {};
    for (let i = 0; i < 50; i += 1) {
      const now = Date.now();
      const { id: entry } = await tests.capture(id);
      sent[entry] = now;
      await page.locator(`#row-${entry}`).waitFor();
    }
    const seen = await page.evaluate(() => (globalThis as unknown as { seen: Record<string, number> }).seen);
    const whole = Object.entries(sent).map(([entry, at]) => (seen[`row-${entry}`] as number) - at);
    const own = Object.keys(sent).map((entry) => (seen[`row-${entry}`] as number) - (arrived[entry] as number));
    process.stdout.write(
      `request to row: p50 ${percentile(whole, 0.5)}, p95 ${percentile(whole, 0.95)} ms; of that after the event: p95 ${percentile(own, 0.95)} ms\n`,
    );
    expect(percentile(own, 0.95)).toBeLessThan(300);
  });

  test('9 1,000 captures over a restart of the API are there once each, in order, and each state is said', async () => {
    const id = await newEndpoint();
    await tests.capture(id);
    const page = await openLive(id);
    const states = await watchStates(page);
    const sending = captureMany(id, 1_000);
    await expect.poll(async () => (await tests.owner.endpoint(id)).body.request_count).toBeGreaterThan(200);
    await tests.stopApi();
    await expect.poll(() => stateOf(page)).toBe('reconnecting');
    await tests.startApi();
    await sending;
    await expect.poll(() => stateOf(page)).toBe('live');
    const ids = await storedIds(id);
    expect(ids.length).toBeGreaterThanOrEqual(1_001);
    await expect.poll(() => rowsOf(page)).toEqual(ids);
    const said = await states();
    expect(said[0]).toBe('live');
    expect(said.slice(said.indexOf('reconnecting'))).toEqual(
      expect.arrayContaining(['reconnecting', 'catching-up', 'live']),
    );
    expect(said.at(-1)).toBe('live');
    await tests.expectComplaint(/WebSocket|ERR_CONNECTION_REFUSED/);
  });

  test('10 2,500 missed captures are counted down, and all come', async () => {
    const id = await newEndpoint();
    await tests.capture(id);
    const page = await openLive(id);
    const other = await tests.environment.startApi();
    await tests.stopApi();
    await expect.poll(() => stateOf(page)).toBe('reconnecting');
    await captureMany(id, 2_500, other.url);
    await page.locator('.status-text').evaluate((element) => {
      const said: string[] = [];
      Object.assign(globalThis, { said });
      new MutationObserver(() => said.push(element.textContent)).observe(element, {
        characterData: true,
        childList: true,
        subtree: true,
      });
    });
    await tests.startApi();
    await expect.poll(() => stateOf(page)).toBe('live');
    const said = await page.evaluate(() => (globalThis as unknown as { said: string[] }).said);
    const toGo = said.flatMap((text) => /([\d,]+) to go/.exec(text)?.[1]?.replaceAll(',', '') ?? []).map(Number);
    // The first of them may have come with the frame in which it says so.
    expect(toGo[0]).toBeGreaterThan(2_000);
    expect(toGo[0]).toBeLessThanOrEqual(2_500);
    expect(toGo).toEqual(toGo.toSorted((a, b) => b - a));
    expect(toGo.length).toBeGreaterThan(2);
    expect(await rowsOf(page)).toEqual(await storedIds(id));
    await other.stop();
    await tests.expectComplaint(/WebSocket|ERR_CONNECTION_REFUSED/);
  });

  test('11 repeated and overtaking events make no second row, and no wrong order', async () => {
    const id = await newEndpoint();
    await tests.capture(id);
    // Between the real server and the page: every event comes three times, and each second one late.
    const page = await openThrough(id, (route) => {
      const server = route.connectToServer();
      let late: string | Buffer | undefined;
      server.onMessage((message) => {
        if (!String(message).startsWith('42["request"')) return route.send(message);
        if (late === undefined) return void (late = message);
        for (const event of [message, message, late, message, late, late]) route.send(event);
        late = undefined;
      });
      route.onMessage((message) => server.send(message));
    });
    await expect.poll(() => stateOf(page)).toBe('live');
    for (let i = 0; i < 20; i += 1) await tests.capture(id);
    await expect.poll(() => rowsOf(page)).toEqual(await storedIds(id));
  });

  test('11 an event that is lost is asked for', async () => {
    const id = await newEndpoint();
    await tests.capture(id);
    let lost = 0;
    const page = await openThrough(id, (route) => {
      const server = route.connectToServer();
      server.onMessage((message) => {
        if (String(message).startsWith('42["request"') && lost === 0) lost += 1;
        else route.send(message);
      });
      route.onMessage((message) => server.send(message));
    });
    await expect.poll(() => stateOf(page)).toBe('live');
    await tests.capture(id);
    await tests.capture(id);
    const ids = await storedIds(id);
    expect(ids).toHaveLength(3);
    await expect.poll(() => rowsOf(page)).toEqual(ids);
    expect(lost).toBe(1);
  });

  test('14 captures that wait to be stored are said, until they are there', async () => {
    const id = await newEndpoint();
    await tests.capture(id);
    const page = await openLive(id);
    await tests.stopWorker();
    const { id: waiting } = await tests.capture(id);
    // Whatever reads from the API meets them, here a page that is opened anew.
    await page.reload();
    await page.getByText('Behind: captures wait to be stored').first().waitFor();
    await tests.startWorker();
    await page.locator(`#row-${waiting}`).waitFor();
    await expect.poll(() => stateOf(page)).toBe('live');
  });

  test('15 the title of a hidden tab counts what arrives, and shows none once it was seen', async () => {
    const id = await newEndpoint();
    await tests.capture(id);
    const page = await openLive(id);
    const setHidden = (hidden: boolean): Promise<void> =>
      page.evaluate((isHidden) => {
        Object.defineProperty(document, 'hidden', { configurable: true, value: isHidden });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    expect(await page.title()).toBe(`${id.slice(0, 8)} · Hookbay`);
    await setHidden(true);
    for (let i = 0; i < 3; i += 1) await tests.capture(id);
    await expect.poll(() => page.title()).toBe(`(3) ${id.slice(0, 8)} · Hookbay`);
    await setHidden(false);
    await expect.poll(() => page.title()).toBe(`${id.slice(0, 8)} · Hookbay`);
  });
});

describePage('without live events', () => {
  test('17 an installation without them: the list loads, says so, and refreshes on demand', async () => {
    const id = await newEndpoint();
    const first = await tests.capture(id);
    await tests.stopApi();
    await tests.startApi({ LIVE_EVENTS: 'false' });
    const page = await tests.open({ path: `/#/e/${id}` });
    await page.locator(`#row-${first.id}`).waitFor();
    await page.getByText('Not live: live events are switched off').waitFor();
    const second = await tests.capture(id);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await expect.poll(() => page.locator(`#row-${second.id}`).count()).toBe(1);
    // More than one page of the list: no gap stays between what was there and what is new.
    await captureMany(id, 450);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await expect.poll(() => rowsOf(page)).toEqual(await storedIds(id));
    await page.context().close();
    await tests.stopApi();
    await tests.startApi();
  });

  test('17 a WebSocket that is blocked on the way: the same', async () => {
    const id = await newEndpoint();
    const first = await tests.capture(id);
    const page = await openThrough(id, (route) => void route.close());
    await page.locator(`#row-${first.id}`).waitFor();
    await page.getByText('Not live: a WebSocket cannot be opened').waitFor();
    const second = await tests.capture(id);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await expect.poll(() => page.locator(`#row-${second.id}`).count()).toBe(1);
  });

  test('17 the code for them does not come: the list loads and refreshes, and it is tried again', async () => {
    const id = await newEndpoint();
    const first = await tests.capture(id);
    const code = '**/state/following.ts';
    const page = await tests.open({
      path: `/#/e/${id}`,
      prepare: async (tab) => void (await tab.route(code, (route) => route.abort())),
    });
    await page.locator(`#row-${first.id}`).waitFor();
    await page.getByText('Not live: a part of the page could not be loaded').waitFor();
    await tests.expectComplaint(/ERR_FAILED/);
    await page.unroute(code);
    const second = await tests.capture(id);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.locator(`#row-${second.id}`).waitFor();
    await expect.poll(() => stateOf(page)).toBe('live');
  });
});

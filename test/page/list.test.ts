import type { Locator, Page } from 'playwright-core';
import { beforeEach, expect, test } from 'vitest';
import { closing } from '../support/environment.ts';
import { describePage, usePage, type OpenOptions, type PageTests } from './support/page.ts';
import { pathsOf, scrollTo, scrollTopOf, store } from './support/list.ts';

/** The machine may be slow. */
const soon = <T>(read: () => T) => expect.poll(read, { timeout: 60_000 });

describePage('the list', () => {
  let tests: PageTests;
  let endpoint: string;

  usePage((opened) => void (tests = opened));
  beforeEach(async () => {
    endpoint = (await tests.owner.create({ permanent: true })).body.id;
  });

  async function open(filter = '', options: OpenOptions = {}): Promise<{ page: Page; list: Locator }> {
    const page = await tests.open({ path: `/#/e/${endpoint}${filter}`, ...options });
    return { page, list: page.getByRole('listbox', { name: 'Requests' }) };
  }

  const capture = (path: string, options = {}): Promise<unknown> => tests.capture(`${endpoint}${path}`, options);
  /** One after the other is stored: captures in flight may overtake each other. */
  const captureInOrder = async (...paths: string[]): Promise<void> => {
    for (const path of paths) {
      await capture(path);
      await tests.environment.drained();
    }
  };

  test('13 rows that arrive above do not move those in view, and a pill counts them', async () => {
    await store(tests, endpoint, 1_000);
    const { page, list } = await open();
    await page.getByText('200 of 1,000 loaded').waitFor();
    await scrollTo(list, 150 * 32 + 7);
    const row = list.getByRole('option', { name: '/stored/845' });
    const before = await row.boundingBox();
    for (let i = 0; i < 10; i += 1) await Promise.all(Array.from({ length: 50 }, () => capture('/new')));
    await page.getByRole('button', { name: '↑ 500 new' }).waitFor();
    expect(await row.boundingBox()).toEqual(before);
    await page.getByRole('button', { name: '↑ 500 new' }).click();
    await list.locator('[aria-posinset="1"]').getByText('/new').waitFor();
    expect(await scrollTopOf(list)).toBe(0);
    // At the top the list follows again.
    await capture('/newest');
    await list.locator('[aria-posinset="1"]').getByText('/newest').waitFor();
  });

  test('13 older entries are loaded when the end comes near, to the oldest one', async () => {
    await store(tests, endpoint, 450);
    const { page, list } = await open();
    await page.getByText('200 of 450 loaded').waitFor();
    await list.focus();
    for (const total of ['400 of 450 loaded', '450 requests']) {
      await page.keyboard.press('End');
      await page.getByText(total).waitFor();
    }
    await page.keyboard.press('End');
    await page.getByText('No older requests').waitFor();
    expect((await pathsOf(list)).at(-1)).toBe('/stored/1');
  });

  test('14 a pause stops the rows and goes on counting, and nothing is lost', async () => {
    await capture('/1');
    const { page, list } = await open();
    await list.getByRole('option', { name: '/1' }).waitFor();
    const top = () => list.evaluate((element) => element.getBoundingClientRect().top);
    const before = await top();
    await page.keyboard.press('p');
    await page.getByText('Paused · 0 new').waitFor();
    expect(await top()).toBe(before);
    await page.keyboard.press('p');
    await page.setViewportSize({ width: 390, height: 844 });
    const onPhone = await top();
    await page.keyboard.press('p');
    await page.getByText('Paused · 0 new').waitFor();
    expect(await top()).toBe(onPhone);
    await captureInOrder('/2', '/3', '/4');
    await page.getByText('Paused · 3 new').waitFor();
    expect(await pathsOf(list)).toEqual(['/1']);
    await page.getByRole('button', { name: 'Resume' }).click();
    await soon(() => pathsOf(list)).toEqual(['/4', '/3', '/2', '/1']);
    expect(await page.getByText('Paused').count()).toBe(0);
  });

  test('18 a filter by text, method and content type says of how many, and what is not loaded', async () => {
    await store(tests, endpoint, 300);
    await capture('/path-needle', { method: 'PUT' });
    await capture('/b', { headers: ['X-Note', 'Needle', 'Content-Type', 'text/plain'], body: 'x' });
    await capture('/c', { headers: ['Content-Type', 'application/json'], body: '{"a":"NEEDLE"}' });
    await capture('/d', { body: Buffer.from([0xff, ...Buffer.from('needle')]) });
    await capture('/e?needle=1');
    const { page, list } = await open();
    const field = page.getByRole('searchbox', { name: 'Filter' });
    await page.getByText('200 of 305 loaded').waitFor();
    await field.fill('needle');
    await soon(() => pathsOf(list)).toEqual(['/e', '/d', '/c', '/b', '/path-needle']);
    await page.getByText('5 of 200', { exact: true }).waitFor();
    await page.getByText('older entries are not loaded').waitFor();

    await page.getByText('Method', { exact: true }).click();
    await page.getByRole('checkbox', { name: 'PUT' }).check();
    await soon(() => pathsOf(list)).toEqual(['/path-needle']);
    await page.getByRole('checkbox', { name: 'PUT' }).uncheck();
    await page.keyboard.press('Escape');
    await page.getByText('Content type').click();
    await page.getByRole('radio', { name: 'text/plain' }).check();
    await soon(() => pathsOf(list)).toEqual(['/b']);
    expect(new URL(page.url()).hash).toContain('q=needle');
  });

  test('18 the whole endpoint is searched by the API, and the page says how much of it', async () => {
    await store(tests, endpoint, 700);
    const { page, list } = await open();
    await page.getByText('200 of 700 loaded').waitFor();
    const gap = () =>
      list
        .getByRole('option')
        .first()
        .evaluate((row) => {
          const [method, what] = [row.querySelector('.method'), row.querySelector('.path')];
          return (what?.getBoundingClientRect().left ?? NaN) - (method?.getBoundingClientRect().right ?? NaN);
        });
    expect(await gap()).toBeLessThan(20);
    await page.getByRole('searchbox', { name: 'Filter' }).fill('stored/33');
    await page.getByText('None of the 200 loaded requests match').waitFor();
    const buttons = (name: string) => page.getByRole('button', { name }).count();
    expect([await buttons('Search all'), await buttons('Clear filter'), await buttons('Delete all')]).toEqual([
      1, 1, 0,
    ]);
    await page.getByRole('searchbox', { name: 'Filter' }).press('Enter');
    await page.getByText('Searched all 700, found 11').waitFor();
    const found = ['339', '338', '337', '336', '335', '334', '333', '332', '331', '330', '33'];
    expect(await pathsOf(list)).toEqual(found.map((name) => `/stored/${name}`));
    expect(await page.getByText('not loaded').count()).toBe(0);
    await page.getByRole('searchbox', { name: 'Filter' }).fill('stored/0');
    await page.getByRole('button', { name: 'Search all 700' }).first().click();
    await page.getByText('No request matches').waitFor();
  });

  test('18 a search stops after 200 and goes on when told', async () => {
    await store(tests, endpoint, 700);
    const { page } = await open('?path=/stored/');
    await page.getByText('200 of 200', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Search all 700' }).click();
    const on = page.getByRole('button', { name: 'Search on' });
    for (const found of ['found 200', 'found 400', 'found 600']) {
      await page.getByText(found).waitFor();
      await on.click();
    }
    await page.getByText('Searched all 700, found 700').waitFor();
    expect(await page.locator('.list-status').textContent()).toContain('Searched all 700, found 700');
    expect(await page.getByText('700 of 700').count()).toBe(0);
  });

  test('19 what is typed while requests arrive stays, and so does the focus', async () => {
    await capture('/0');
    const { page } = await open();
    const field = page.getByRole('searchbox', { name: 'Filter' });
    await field.waitFor();
    await page.keyboard.press('/');
    const arriving = arrive(() => capture('/orders/1'));
    const text = 'orders/1 and whatever else people type';
    await page.keyboard.type(text, { delay: 20 });
    expect(await field.inputValue()).toBe(text);
    expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
    for (let i = 0; i < 30; i += 1) await page.keyboard.press('Backspace');
    await page.getByText(/^[1-9][\d,]* of [\d,]+$/).waitFor();
    await arriving.stop();
    expect(await field.inputValue()).toBe('orders/1');
  });

  test('20 parts of the filter can be removed, and Escape clears it', async () => {
    await capture('/a/1', { headers: ['X-Kind', 'one'] });
    await capture('/b/2', { headers: ['X-Kind', 'two'] });
    await capture('/b/3', { headers: ['X-Kind', 'one'] });
    const { page, list } = await open('?header=x-kind:one&path=/b&since=2020-01-01T00:00:00.000Z');
    await soon(() => pathsOf(list)).toEqual(['/b/3']);
    await page.getByRole('button', { name: 'Remove path /b…' }).click();
    await soon(() => pathsOf(list)).toEqual(['/b/3', '/a/1']);
    await page.getByRole('button', { name: 'Remove x-kind: one' }).click();
    await soon(() => pathsOf(list)).toEqual(['/b/3', '/b/2', '/a/1']);
    await page.getByRole('searchbox', { name: 'Filter' }).fill('/b/2');
    await soon(() => pathsOf(list)).toEqual(['/b/2']);
    await page.keyboard.press('Escape');
    await soon(() => pathsOf(list)).toEqual(['/b/3', '/b/2', '/a/1']);
    await soon(() => new URL(page.url()).hash).toBe(`#/e/${endpoint}`);
  });

  test('29 times are local or UTC by one switch, with milliseconds, in later visits too', async () => {
    await capture('/1');
    const [entry] = (await tests.owner.list(endpoint)).body.requests;
    const created = entry?.created_at as string;
    const { page, list } = await open('', { timezoneId: 'Asia/Kolkata' });
    const local = new Date(Date.parse(created) + 5.5 * 3_600_000).toISOString();
    await list.getByText(local.slice(11, 23)).waitFor();
    await page.getByRole('button', { name: 'Times: local' }).click();
    await list.getByText(created.slice(11, 23)).waitFor();
    await list.locator('.time').hover();
    expect(await list.locator('.time').getAttribute('title')).toContain(`${created.slice(0, 10)} `);
    await page.reload();
    await page.getByRole('button', { name: 'Times: UTC' }).waitFor();
    await list.getByText(created.slice(11, 23)).waitFor();
  });

  test('36 keys open, move, select, and do nothing while somebody types', async () => {
    await captureInOrder('/1', '/2', '/3', '/4');
    const { page, list } = await open();
    await list.getByRole('option', { name: '/4' }).waitFor();
    const opened = (): Promise<string | null> => list.locator('[data-open] .path').textContent();
    await page.keyboard.press('j');
    await soon(opened).toBe('/4');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await soon(opened).toBe('/3');
    await list.focus();
    await page.keyboard.press('End');
    await soon(opened).toBe('/1');
    await page.keyboard.press('Home');
    await soon(opened).toBe('/4');
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('Shift+ArrowDown');
    await page.getByText('3 selected').waitFor();
    const selected = list.getByRole('option', { selected: true });
    expect(await selected.locator('.path').allTextContents()).toEqual(['/4', '/3', '/2']);
    await page.getByRole('button', { name: 'Clear', exact: true }).click();
    await list.getByRole('option', { name: '/1' }).click({ modifiers: ['Shift'] });
    await page.getByText('4 selected').waitFor();

    await page.keyboard.press('/');
    await page.keyboard.type('jkp?/');
    expect(await page.getByRole('searchbox', { name: 'Filter' }).inputValue()).toBe('jkp?/');
    expect(await page.getByText('Paused').count()).toBe(0);
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.keyboard.press('Escape');
    await list.focus();
    await page.keyboard.press('Escape');
    await soon(() => new URL(page.url()).hash).toBe(`#/e/${endpoint}`);
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('p');
    expect(await page.getByText('Paused').count()).toBe(0);
  });

  test('37 rows are options of a listbox that says which one is active', async () => {
    await store(tests, endpoint, 120);
    const { page, list } = await open();
    await page.getByText('120 requests').waitFor();
    const third = list.getByRole('option', { name: '/stored/118' });
    expect(await third.getAttribute('aria-posinset')).toBe('3');
    expect(await third.getAttribute('aria-setsize')).toBe('120');
    await list.focus();
    for (let i = 0; i < 3; i += 1) await page.keyboard.press('ArrowDown');
    await soon(() => third.getAttribute('aria-selected')).toBe('true');
    expect(await list.getAttribute('aria-activedescendant')).toBe(await third.getAttribute('id'));
    expect(await list.locator('[role=option]').count()).toBeLessThanOrEqual(60);
    for (let i = 0; i < 3; i += 1) await page.keyboard.press('PageDown');
    const active = list.locator('[data-open]');
    await soon(async () => Number(await active.getAttribute('aria-posinset'))).toBeGreaterThan(60);
    const [row, box] = [await active.boundingBox(), await list.locator('xpath=..').boundingBox()];
    expect(row!.y).toBeGreaterThanOrEqual(box!.y);
    // The view may have become half a pixel shorter since.
    expect(row!.y + row!.height).toBeLessThan(box!.y + box!.height + 1);
  });

  test('37 arrivals are told at most once every five seconds', async () => {
    await capture('/0');
    const { page, list } = await open();
    await list.getByRole('option', { name: '/0' }).waitFor();
    await page.evaluate(() => {
      const told: { text: string; at: number }[] = [];
      const region = document.querySelector('[data-live=arrivals]')!;
      new MutationObserver(() => told.push({ text: region.textContent, at: performance.now() })).observe(region, {
        childList: true,
        characterData: true,
        subtree: true,
      });
      Object.assign(globalThis, { told });
    });
    const told = (): Promise<{ text: string; at: number }[]> =>
      page.evaluate(() => (globalThis as unknown as { told: { text: string; at: number }[] }).told);
    await capture('/1');
    await soon(async () => (await told()).at(-1)?.text).toBe('1 new request');
    for (let i = 0; i < 37; i += 1) await capture('/more');
    await soon(async () => (await told()).at(-1)?.text).toMatch(/^\d+ new requests$/);
    const times = (await told()).map(({ at }) => at);
    const gaps = times.slice(1).map((at, i) => at - (times[i] as number));
    expect(
      gaps.filter((gap) => gap < 4_900),
      JSON.stringify(await told()),
    ).toEqual([]);
  });

  test('a bar of the last hour filters by its minute', async () => {
    await captureInOrder('/1', '/2', '/3');
    const { page, list } = await open();
    await page.getByRole('img', { name: /^3 captures in the last hour, most at \d\d:\d\d$/ }).waitFor();
    await capture('/4');
    await page.getByRole('img', { name: /^4 captures/ }).waitFor();
    await page.getByRole('slider').focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    await page.getByText('No request matches').waitFor();
    await page.getByRole('button', { name: 'Clear filter' }).first().click();
    await soon(() => pathsOf(list)).toEqual(['/4', '/3', '/2', '/1']);
  });
});

/** Sends requests, many at a time, until it is stopped or the test is over. */
function arrive(send: () => Promise<unknown>): { stop: () => Promise<void> } {
  let over = false;
  const sending = (async () => {
    while (!over) await Promise.all(Array.from({ length: 20 }, send));
  })();
  return closing({ stop: () => ((over = true), sending) }, (arriving) => arriving.stop());
}

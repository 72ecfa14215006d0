import type { Locator, Page, Route } from 'playwright-core';
import { expect, test } from 'vitest';
import { idToBytes, newTimeOrderedId } from '../../src/domain/ids.ts';
import { insertRequests } from '../../src/store/capture-batches.ts';
import { inTransaction } from '../../src/store/database.ts';
import { makeCapture } from '../support/captures.ts';
import { describePage, usePage, type PageTests } from './support/page.ts';

let tests: PageTests;
usePage((opened) => {
  tests = opened;
});

const newEndpoint = async (): Promise<string> => (await tests.owner.create()).body.id;
const listOf = (page: Page): Locator => page.getByRole('listbox', { name: 'Requests' });
const rowsOf = (page: Page): Locator => listOf(page).getByRole('option');
const dialogOf = (page: Page): Locator => page.getByRole('dialog');
const stored = async (endpoint: string): Promise<number> => (await tests.owner.list(endpoint, '?limit=1')).body.total;
const said = (page: Page, text: string): Promise<void> =>
  page.getByRole('status').filter({ hasText: text }).first().waitFor();

/** An endpoint with captures to `/1`, `/2` and so on; the ids in that order. */
async function withCaptures(count: number): Promise<{ endpoint: string; ids: string[] }> {
  const endpoint = await newEndpoint();
  const ids: string[] = [];
  for (let i = 1; i <= count; i += 1) {
    const { id } = await tests.capture(`${endpoint}/${i}`, { body: i === 3 ? 'body §' : 'body' });
    // Those that are stored at the same time may overtake each other.
    await tests.owner.entry(id);
    ids.push(id);
  }
  return { endpoint, ids };
}

/** Stores entries without sending them; every second one is below `/drop`. */
async function fill(endpoint: string, count: number): Promise<void> {
  const captures = Array.from({ length: count }, (_, i) => ({
    ...makeCapture(endpoint, {
      id: newTimeOrderedId(),
      target: `/h/${endpoint}/${i % 2 === 0 ? 'keep' : 'drop'}`,
      rawHeaders: ['Host', 'x'],
    }),
    seq: i + 1,
  }));
  const { pool, knex } = tests.environment.db;
  await inTransaction(pool, (connection) => insertRequests(connection, captures));
  await knex('endpoints').where('id', idToBytes(endpoint)).update({ request_count: count, stored_count: count });
}

/** Holds the second request of its kind until it is let go. */
async function holdSecond(page: Page, url: string | RegExp): Promise<() => Promise<void>> {
  const { promise, resolve } = Promise.withResolvers<Route>();
  let count = 0;
  await page.route(url, (route) => {
    count += 1;
    if (count === 2) resolve(route);
    else void route.continue();
  });
  return async () => (await promise).continue();
}

describePage('deleting', () => {
  test('30 one, by its button: asks with the number, opens the row below, and gives the list the focus', async () => {
    const { endpoint, ids } = await withCaptures(4);
    const page = await tests.open({ path: `/#/e/${endpoint}/r/${ids[2]}` });
    await expect.poll(() => rowsOf(page).count()).toBe(4);
    const button = page.getByRole('group', { name: 'Actions' }).getByRole('button', { name: 'Delete' });
    await button.click();
    await dialogOf(page).getByText('Delete 1 request? This cannot be undone.').waitFor();
    await dialogOf(page).getByText('POST /3').waitFor();
    await dialogOf(page).getByRole('button', { name: 'Cancel' }).click();
    await dialogOf(page).waitFor({ state: 'detached' });
    expect(await stored(endpoint)).toBe(4);

    await button.click();
    await dialogOf(page).getByRole('button', { name: 'Delete 1 request' }).click();
    await said(page, '1 request deleted');
    await expect.poll(() => rowsOf(page).count()).toBe(3);
    await expect.poll(() => page.url()).toContain(`/r/${ids[1]}`);
    await expect.poll(() => listOf(page).evaluate((list) => list === document.activeElement)).toBe(true);
    expect((await tests.owner.entry(ids[2] as string)).status).toBe(404);
  });

  test('30 a range by keyboard alone', async () => {
    const { endpoint, ids } = await withCaptures(5);
    const page = await tests.open({ path: `/#/e/${endpoint}` });
    await expect.poll(() => rowsOf(page).count()).toBe(5);
    await listOf(page).focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'Shift+ArrowDown', 'Shift+ArrowDown', 'Delete'])
      await page.keyboard.press(key);
    await dialogOf(page).getByText('Delete 3 requests?').waitFor();
    await page.keyboard.press('Enter');
    await said(page, '3 requests deleted');
    await expect.poll(() => rowsOf(page).count()).toBe(2);
    await expect.poll(() => page.url()).toContain(`/r/${ids[0]}`);
    expect((await tests.owner.list(endpoint)).body.requests.map(({ id }) => id)).toEqual([ids[4], ids[0]]);
    await expect.poll(() => listOf(page).evaluate((list) => list === document.activeElement)).toBe(true);
  });

  test('30 all that match a filter, of the whole endpoint, and nothing that arrives meanwhile', async () => {
    const endpoint = await newEndpoint();
    await fill(endpoint, 700);
    const page = await tests.open({ path: `/#/e/${endpoint}?path=%2Fdrop` });
    const letGo = await holdSecond(page, /bodyBytes=0/);
    await page.getByRole('button', { name: 'Delete all that match' }).click();
    await dialogOf(page).getByText('At least 200 requests that match the filter. Counting').waitFor();
    await letGo();
    await dialogOf(page).getByText('Delete 350 requests that match the filter?').waitFor();
    const { id: late } = await tests.capture(`${endpoint}/drop`);
    await dialogOf(page).getByRole('button', { name: 'Delete 350 requests' }).click();
    await said(page, '350 requests deleted');
    await expect.poll(() => stored(endpoint)).toBe(351);
    expect((await tests.owner.entry(late)).status).toBe(200);
    await expect.poll(() => rowsOf(page).count()).toBe(1);
    await page.getByRole('button', { name: 'Delete all that match' }).click();
    await dialogOf(page).getByText('Delete 1 request that match').waitFor();
  });

  test('30 a long deletion says how far it is, stops, and goes on', async () => {
    const endpoint = await newEndpoint();
    await fill(endpoint, 4_600);
    const page = await tests.open({ path: `/#/e/${endpoint}?path=%2Fdrop` });
    const letGo = await holdSecond(page, '**/api/requests');
    await page.getByRole('button', { name: 'Delete all that match' }).click();
    await dialogOf(page).getByRole('button', { name: 'Delete 2,300 requests' }).click();
    await dialogOf(page).getByText('Deleted 1,000 of 2,300').waitFor();
    await dialogOf(page).getByRole('button', { name: 'Stop' }).click();
    await letGo();
    await dialogOf(page).getByText('Stopped: deleted 2,000 of 2,300').waitFor();
    expect(await stored(endpoint)).toBe(2_600);
    await dialogOf(page).getByRole('button', { name: 'Go on' }).click();
    await said(page, '2,300 requests deleted');
    expect(await stored(endpoint)).toBe(2_300);
    await expect.poll(() => rowsOf(page).count()).toBe(0);
  });

  test('30 while captures are in flight it says to try again, which works', async () => {
    const { endpoint, ids } = await withCaptures(2);
    const page = await tests.open({ path: `/#/e/${endpoint}/r/${ids[0]}` });
    const error = 'Captures are still being stored; repeat the delete in a few seconds';
    await page.route('**/api/requests', (route) => route.fulfill({ status: 503, json: { error } }), { times: 1 });
    await page.getByRole('group', { name: 'Actions' }).waitFor();
    await page.keyboard.press('Delete');
    await dialogOf(page).getByRole('button', { name: 'Delete 1 request' }).click();
    await dialogOf(page).getByText(error).waitFor();
    await tests.expectComplaint(/503/);
    await dialogOf(page).getByRole('button', { name: 'Try again' }).click();
    await said(page, '1 request deleted');
    expect(await stored(endpoint)).toBe(1);
  });

  test('30 a text that is too short for a search deletes what is loaded, and says so', async () => {
    const { endpoint } = await withCaptures(3);
    const page = await tests.open({ path: `/#/e/${endpoint}?q=%C2%A7` });
    await expect.poll(() => rowsOf(page).count()).toBe(1);
    await page.getByRole('button', { name: 'Delete all that match' }).click();
    await dialogOf(page).getByText('What is loaded here can be deleted').waitFor();
    await dialogOf(page).getByRole('button', { name: 'Delete 1 request' }).click();
    await said(page, '1 request deleted');
    expect(await stored(endpoint)).toBe(2);
  });

  test('30 an entry that was deleted elsewhere opens as deleted, not as an error', async () => {
    const { endpoint, ids } = await withCaptures(2);
    const page = await tests.open({ path: `/#/e/${endpoint}` });
    await expect.poll(() => rowsOf(page).count()).toBe(2);
    await tests.owner.remove(ids[0] as string);
    await rowsOf(page).last().click();
    await page.getByText('This request was deleted').waitFor();
    await tests.expectComplaint(/404/);
    expect(await page.getByRole('group', { name: 'Actions' }).count()).toBe(0);
  });
});

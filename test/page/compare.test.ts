import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describePage, usePage, type PageTests } from './support/page.ts';

let tests: PageTests;
usePage((opened) => {
  tests = opened;
});

const JSON_TYPE = ['Content-Type', 'application/json'];

/** Returns when it is stored: those that are stored at the same time may overtake each other. */
async function storeOne(path: string, options: Parameters<PageTests['capture']>[1]): Promise<string> {
  const { id } = await tests.capture(path, options);
  await tests.owner.entry(id);
  return id;
}

/** Opens the last of several captures to one new endpoint. */
async function openLast(...captures: { path?: string; headers?: string[]; body?: string | Buffer }[]) {
  const { id: endpoint } = (await tests.owner.create()).body;
  const ids: string[] = [];
  for (const { path = '', headers = JSON_TYPE, body } of captures)
    ids.push(await storeOne(`${endpoint}${path}`, { headers, body }));
  const page = await tests.open({ path: `/#/e/${endpoint}/r/${ids.at(-1)}` });
  await page.getByRole('group', { name: 'Actions' }).waitFor();
  return { page, endpoint, ids };
}

/** Rows of the list have to be there: the one before is looked for among them. */
async function compare(page: Page, rows: number) {
  await expect.poll(() => page.getByRole('listbox', { name: 'Requests' }).getByRole('option').count()).toBe(rows);
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  const pane = page.getByRole('region', { name: 'Comparison' });
  await pane.getByRole('group', { name: 'Differences' }).waitFor();
  await pane.getByText('Comparing …').waitFor({ state: 'detached' });
  return pane;
}

describePage('comparing two requests', () => {
  test('26 names the headers, parameters and members that differ, and folds what is the same', async () => {
    const items = Array.from({ length: 40 }, (_, i) => i);
    const { page, endpoint, ids } = await openLast(
      { path: '/a?x=1&only=a', headers: [...JSON_TYPE, 'X-Try', '1'], body: JSON.stringify({ items, state: 'open' }) },
      { path: '/a?x=2', headers: [...JSON_TYPE, 'X-Try', '2'], body: JSON.stringify({ items, state: 'paid' }) },
    );
    const pane = await compare(page, 2);
    const row = (name: string) =>
      pane.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });
    expect(await row('x-try').innerText()).toMatch(/−\s*1\s*\+\s*2/);
    expect(await row('x').innerText()).toMatch(/−\s*1\s*\+\s*2/);
    expect(await row('only').innerText()).toMatch(/−\s*a/);
    expect(await pane.getByRole('deletion').allInnerTexts()).toContainEqual(expect.stringMatching(/−.*"open"/s));
    expect(await pane.getByRole('insertion').allInnerTexts()).toContainEqual(expect.stringMatching(/\+.*"paid"/s));
    expect(await pane.getByText('The same: method and path.').count()).toBe(1);
    expect(await pane.getByText('39').count()).toBe(1);
    expect(await pane.getByText('17', { exact: true }).count()).toBe(0);
    await pane.getByRole('button', { name: /unchanged lines/ }).click();
    await pane.getByText('17', { exact: true }).waitFor();

    await expect.poll(() => page.url()).toContain(`#/e/${endpoint}/r/${ids[1]}?with=${ids[0]}`);
    await page.reload();
    await pane.getByText('The same: method and path.').waitFor();
    await page.goBack();
    await page.getByRole('group', { name: 'Actions' }).waitFor();
    expect(await pane.count()).toBe(0);
  });

  test('26 identical ones say so', async () => {
    const same = { path: '/a?x=1', body: '{"a":1}' };
    const { page } = await openLast(same, same);
    const pane = await compare(page, 2);
    await pane.getByText('Identical: method, path, query, headers and body.').waitFor();
    expect(await pane.getByRole('deletion').count()).toBe(0);
  });

  test('26 the one before is the last that is like it, and any other can be chosen by keyboard', async () => {
    const event = (name: string, id = 'd') => [...JSON_TYPE, 'X-GitHub-Event', name, 'X-GitHub-Delivery', id];
    const { page, ids } = await openLast(
      { path: '/hooks', headers: event('push', 'd-1'), body: '{"n":1}' },
      { path: '/other', headers: event('push'), body: '{"n":2}' },
      { path: '/hooks', headers: event('ping'), body: '{"n":3}' },
      { path: '/hooks', headers: event('push', 'd-4'), body: '{"n":4}' },
    );
    const pane = await compare(page, 4);
    await expect.poll(() => page.url()).toContain(`with=${ids[0]}`);
    await pane.getByText('Compared with the previous push of GitHub to this path.').waitFor();
    await expect
      .poll(() => pane.getByRole('definition').allInnerTexts())
      .toEqual([expect.stringMatching(/GitHub push delivery d-1/), expect.stringMatching(/GitHub push delivery d-4/)]);
    await pane.getByRole('button', { name: 'Choose another' }).click();
    const dialog = page.getByRole('dialog', { name: 'Compare with' });
    await dialog.getByRole('searchbox', { name: 'Find a request' }).fill('other');
    await expect.poll(() => dialog.getByRole('listitem').count()).toBe(1);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain(`with=${ids[1]}`);
    await expect.poll(() => pane.getByRole('row', { name: 'path' }).innerText()).toMatch(/−.*\/other\s*\+.*\/hooks/s);
  });

  test('26 where nothing before is like it, the user chooses', async () => {
    const { page, ids } = await openLast({ path: '/other', body: '{"n":1}' }, { path: '/hooks', body: '{"n":2}' });
    await expect.poll(() => page.getByRole('listbox', { name: 'Requests' }).getByRole('option').count()).toBe(2);
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Compare with' });
    await dialog.getByText('No earlier request with the same method and path is loaded').waitFor();
    expect(page.url()).not.toContain('with=');
    await dialog.getByRole('button', { name: /other/ }).click();
    await expect.poll(() => page.url()).toContain(`with=${ids[0]}`);
    const pane = page.getByRole('region', { name: 'Comparison' });
    await pane.getByRole('group', { name: 'Differences' }).waitFor();
    expect(await pane.getByText('Compared with').count()).toBe(0);
  });

  test('26 binary and hostile content is named, not run; a deleted entry says so', async () => {
    const hostile = '<img src=x onerror=alert(1)>\u202e';
    const { page, ids } = await openLast(
      { headers: ['X-Note', 'a'], body: Buffer.from([0, 255, 1]) },
      { headers: ['X-Note', '<b>b</b>'], body: hostile },
    );
    const pane = await compare(page, 2);
    await pane.getByText('The bodies are not both text').waitFor();
    await pane.getByText('<b>b</b>').waitFor();
    expect(await pane.locator('b, img').count()).toBe(0);
    await tests.owner.remove(ids[0] as string);
    await page.reload();
    await pane.getByText('One of the two was deleted').waitFor();
    await tests.expectComplaint(/404/);
  });
});

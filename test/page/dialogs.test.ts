import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { beforeEach, expect, test } from 'vitest';
import type { ShareRecord } from '../../src/domain/answers.ts';
import { client, send } from '../support/client.ts';
import { describePage, PHONE, usePage, type PageTests } from './support/page.ts';

let tests: PageTests;
usePage((opened) => {
  tests = opened;
});

let endpoint: string;
beforeEach(async () => {
  endpoint = (await tests.owner.create()).body.id;
});

/** Opens a dialog of the endpoint by the menu. */
async function openDialog(item: string, title: string, options = {}): Promise<{ page: Page; dialog: Locator }> {
  const page = await tests.open({ path: `/#/e/${endpoint}`, ...options });
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('menuitem', { name: item }).click();
  const dialog = page.getByRole('dialog', { name: title });
  await dialog.waitFor();
  return { page, dialog };
}

const responsePath = (): string => `/api/endpoints/${endpoint}/response`;

describePage('custom responses', () => {
  test('what is set is sent, shown, and taken back', async () => {
    const { page, dialog } = await openDialog('Custom response', 'Custom response');
    await dialog.getByText('Now: the receipt').waitFor();
    await dialog.getByLabel('Status').fill('418');
    await dialog.getByRole('button', { name: 'Add a header' }).click();
    await dialog.getByLabel('Name of header 1').fill('X-Shop');
    await dialog.getByLabel('Value of header 1').fill('a');
    await dialog.getByLabel('Body', { exact: true }).fill('{"tea":true}');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const answer = await send(`${tests.url}/h/${endpoint}`, { method: 'POST' });
    expect([answer.status, answer.headers['x-shop'], answer.bytes.toString()]).toEqual([418, 'a', '{"tea":true}']);

    const switcher = page.locator('.switcher-button');
    await switcher.getByText('custom response').waitFor();
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('menuitem', { name: 'Custom response' }).click();
    await dialog.getByText('Now: status 418, 2 headers, a body of 12 bytes.').waitFor();
    await expect.poll(() => dialog.getByLabel('Value of header 1').inputValue()).toBe('a');
    await dialog.getByRole('button', { name: 'Use the receipt' }).click();
    await dialog.waitFor({ state: 'detached' });
    await switcher.getByText('custom response').waitFor({ state: 'detached' });
    expect((await tests.owner.call('GET', responsePath())).status).toBe(404);
  });

  test('what the API refuses is said at the field that it names, and nothing is lost', async () => {
    const { dialog } = await openDialog('Custom response', 'Custom response');
    const errorOf = (label: string): Locator =>
      dialog
        .locator('.field')
        .filter({ has: dialog.page().getByText(label, { exact: true }) })
        .getByRole('alert');
    await dialog.getByLabel('Status').fill('99');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await tests.expectComplaint(/400/);
    await errorOf('Status')
      .filter({ hasText: /^status: / })
      .waitFor();
    await dialog.getByLabel('Status').fill('204');
    await dialog.getByLabel('Body', { exact: true }).fill('x');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await tests.expectComplaint(/400/);
    await errorOf('Body').filter({ hasText: 'body: an answer of 204 has none' }).waitFor();
    await dialog.getByRole('button', { name: 'Add a header' }).click();
    await dialog.getByLabel('Name of header 1').fill('Set-Cookie');
    await dialog.getByLabel('Body', { exact: true }).fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await tests.expectComplaint(/400/);
    await errorOf('Headers').filter({ hasText: 'headers: "Set-Cookie" is set by the server' }).waitFor();
    await expect.poll(() => dialog.getByLabel('Status').inputValue()).toBe('204');
  });

  test('36 closing asks where something would be lost, and the focus goes back to the menu', async () => {
    const { page, dialog } = await openDialog('Custom response', 'Custom response');
    await dialog.getByRole('button', { name: /^500/ }).click();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await dialog.getByText('What you changed is not saved.').waitFor();
    await dialog.getByRole('button', { name: 'Stay' }).click();
    await expect.poll(() => dialog.getByLabel('Status').inputValue()).toBe('500');
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Close anyway' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await tests.owner.call('GET', responsePath())).status).toBe(404);
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Menu');
  });

  test('a row of headers that is still empty is no change: closing does not ask', async () => {
    const { dialog } = await openDialog('Custom response', 'Custom response');
    await dialog.getByRole('button', { name: 'Add a header' }).click();
    await dialog.getByPlaceholder('Name').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await tests.owner.call('GET', responsePath())).status).toBe(404);
  });

  test.each([
    ['New endpoint', ['Create', 'Cancel']],
    ['Custom response', ['Save', 'Cancel']],
    ['Share links', ['Close']],
    ['Export', ['Download', 'Close']],
    ['Delete endpoint', ['Delete endpoint', 'Cancel']],
    ['Keyboard help', ['Close']],
  ])('the foot of "%s" has what it is for first, and what closes it last', async (name, buttons) => {
    const { dialog } = await openDialog(name, name);
    await expect.poll(() => dialog.locator('.modal-foot').getByRole('button').allInnerTexts()).toEqual(buttons);
  });
});

describePage('share links', () => {
  const links = async (): Promise<ShareRecord[]> =>
    (await tests.owner.call<{ shares: ShareRecord[] }>('GET', `/api/endpoints/${endpoint}/shares`)).body.shares;

  test('a link is shown once, opens what it says, is listed, and withdrawn', async () => {
    const { page, dialog } = await openDialog('Share links', 'Share links');
    await dialog.getByText('There are none.').waitFor();
    await expect.poll(() => dialog.getByLabel('Hide secrets').isChecked()).toBe(true);
    await dialog.getByLabel('Label').fill('for the vendor');
    await dialog.getByLabel('It ends after').selectOption('1 hour');
    await dialog.getByLabel('Only what came until now').check();
    await dialog.getByRole('button', { name: 'Create the link' }).click();
    const url = await dialog.getByLabel('Share link', { exact: true }).inputValue();
    expect(url).toMatch(new RegExp(`^${tests.url}/s#hbs_[\\w-]{43}$`));
    await dialog.getByText('it is not shown again').waitFor();
    const [link] = await links();
    expect(link).toMatchObject({ label: 'for the vendor', redact: true, request_id: null, until: expect.any(String) });
    expect((await client(tests.url, url.split('#')[1] as string).list(endpoint)).status).toBe(200);
    expect(page.url()).not.toContain('hbs_');

    await dialog.getByRole('button', { name: 'Create another' }).click();
    expect(await dialog.getByLabel('Share link', { exact: true }).count()).toBe(0);
    await dialog.getByRole('listitem').filter({ hasText: 'for the vendor' }).getByText('secrets hidden').waitFor();
    await dialog.getByRole('button', { name: 'Withdraw for the vendor' }).click();
    await dialog.getByText('There are none.').waitFor();
    expect(await links()).toEqual([]);
    expect((await client(tests.url, url.split('#')[1] as string).list(endpoint)).status).toBe(410);
  });

  test('a label that is too long is refused at its field', async () => {
    const { dialog } = await openDialog('Share links', 'Share links');
    await dialog.getByLabel('Label').fill('x'.repeat(101));
    await dialog.getByRole('button', { name: 'Create the link' }).click();
    await dialog
      .getByRole('alert')
      .filter({ hasText: /^label: / })
      .waitFor();
    await tests.expectComplaint(/400/);
    expect(await links()).toEqual([]);
  });
});

describePage('export', () => {
  test.each(['ndjson', 'har', 'csv'])(
    'as %s: the file is the export of the API, and said to be complete',
    async (format) => {
      for (const body of ['one', 'two', 'three']) await tests.capture(endpoint, { method: 'POST', body });
      const { page, dialog } = await openDialog('Export', 'Export');
      await dialog.getByRole('radio', { name: new RegExp(`^${format}`, 'i') }).check();
      const downloading = page.waitForEvent('download');
      await dialog.getByRole('button', { name: 'Download' }).click();
      const download = await downloading;
      expect(download.suggestedFilename()).toBe(`${endpoint}.${format}`);
      await dialog.getByText(/^3 requests, .*: saved, and complete\.$/).waitFor();
      const expected = await tests.owner.call('GET', `/api/endpoints/${endpoint}/export?format=${format}`);
      expect((await readFile(await download.path())).equals(expected.bytes)).toBe(true);
    },
  );

  test('what matches the filter alone, and what the API cannot search is said before', async () => {
    for (const body of ['one', 'two', 'three']) await tests.capture(endpoint, { method: 'POST', body });
    const { page, dialog } = await openDialog('Export', 'Export', { path: `/#/e/${endpoint}?q=two` });
    const downloading = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Download' }).click();
    const text = await readFile(await (await downloading).path(), 'utf8');
    expect(text.trim().split('\n')).toHaveLength(2);
    expect(text).toContain('"body":"two"');
    await dialog.getByText(/^1 request, /).waitFor();
    await page.goto(`${tests.url}/#/e/${endpoint}?q=tw`);
    await page.reload();
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('menuitem', { name: 'Export' }).click();
    await dialog.getByText('can be searched for 3 or more characters').waitFor();
    await expect.poll(() => dialog.getByRole('button', { name: 'Download' }).isDisabled()).toBe(true);
  });

  test('a file that breaks off before its end is not saved, and neither is a second one of the same user', async () => {
    await tests.capture(endpoint, { method: 'POST', body: 'one' });
    const { page, dialog } = await openDialog('Export', 'Export');
    const saved: unknown[] = [];
    page.on('download', (download) => saved.push(download));
    await page.route('**/export?*', (route) => route.fulfill({ body: '{"id":"1"}\n' }));
    await dialog.getByRole('button', { name: 'Download' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'broke off before its end' }).waitFor();
    await page.route('**/export?*', (route) =>
      route.fulfill({ status: 429, json: { error: 'Another export of yours is running; wait for its end' } }),
    );
    await dialog.getByRole('button', { name: 'Download' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'Another export of yours is running' }).waitFor();
    await tests.expectComplaint(/429/);
    expect(saved).toEqual([]);
  });
});

describePage('help', () => {
  test('39 on a phone a dialog is the whole screen, and scrolls inside', async () => {
    const { page, dialog } = await openDialog('Custom response', 'Custom response', {
      viewport: PHONE,
      hasTouch: true,
    });
    await dialog.getByRole('button', { name: 'Save' }).waitFor();
    expect(await dialog.boundingBox()).toEqual({ x: 0, y: 0, ...PHONE });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(PHONE.width);
    const save = await dialog.getByRole('button', { name: 'Save' }).boundingBox();
    expect((save?.y ?? 0) + (save?.height ?? 0)).toBeLessThanOrEqual(PHONE.height);
  });

  test('36 the help lists the keys, and Escape closes it', async () => {
    const { page, dialog } = await openDialog('Keyboard help', 'Keyboard help');
    await dialog.getByText('Escape', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Menu');
  });
});

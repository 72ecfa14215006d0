import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { detailOf, expectText, openSent, panelOf, tab } from './support/detail.ts';
import { describePage, usePage, type PageTests } from './support/page.ts';

let tests: PageTests;
usePage((opened) => {
  tests = opened;
});

async function endpoint(): Promise<string> {
  return (await tests.owner.create()).body.id;
}

function rowsOf(page: Page): Locator {
  return page.getByRole('listbox', { name: 'Requests' }).getByRole('option');
}

function hash(page: Page): string {
  return decodeURIComponent(new URL(page.url()).hash);
}

describePage('the detail of a request', () => {
  test('20 a header value filters the list, one more narrows it, and "More like this" begins anew', async () => {
    const page = await tests.open();
    const id = await endpoint();
    const push = ['X-GitHub-Event', 'push', 'X-Shop', 'Zoë: one'];
    const bytes = push.map((text) => Buffer.from(text).toString('latin1'));
    await tests.capture(`${id}/other`, { headers: ['X-GitHub-Event', 'push'] });
    await tests.capture(`${id}/hooks`, { headers: ['X-GitHub-Event', 'issues'] });
    await tests.capture(`${id}/hooks`, { method: 'PUT', headers: ['X-GitHub-Event', 'push'] });
    await tests.capture(`${id}/hooks`, { headers: ['X-GitHub-Event', 'push'] });
    await openSent(tests, page, id, { headers: bytes });
    await expect.poll(() => rowsOf(page).count()).toBe(5);
    await tab(page, /^Headers/);
    await panelOf(page).getByRole('button', { name: 'Filter by X-GitHub-Event' }).click();
    await expect.poll(() => hash(page)).toContain('header=x-github-event:push');
    await expect.poll(() => rowsOf(page).count()).toBe(4);
    await panelOf(page).getByRole('button', { name: 'Filter by X-Shop' }).click();
    await expect.poll(() => hash(page)).toContain('header=x-shop:Zoë: one'.replaceAll(' ', '+'));

    await rowsOf(page).first().waitFor();
    await page.goto(`${tests.url}/#/e/${id}`);
    await expect.poll(() => rowsOf(page).count()).toBe(5);
    await rowsOf(page).filter({ hasText: 'PUT' }).click();
    await detailOf(page).getByRole('button', { name: 'More like this' }).click();
    await expect.poll(() => hash(page)).toContain('?method=PUT&header=x-github-event:push&path=/hooks');
    await expect.poll(() => rowsOf(page).count()).toBe(1);
  });

  test('headers appear as they were sent: order, case, number', async () => {
    const page = await tests.open();
    await openSent(tests, page, await endpoint(), {
      headers: ['X-Two', 'b', 'x-ONE', '1', 'X-Two', 'a, c', 'X-Empty', ''],
    });
    await tab(page, /^Headers \(7\)$/);
    const rows = panelOf(page).getByRole('table', { name: 'Headers' }).getByRole('row');
    const texts = async (): Promise<string[]> =>
      await rows.getByRole('cell').or(rows.getByRole('rowheader')).allInnerTexts();
    const sent = (await texts()).filter((text) => !/Copy/.test(text)).join('|');
    expect(sent).toContain('X-Two|b|x-ONE|1|X-Two|a, c|X-Empty|');
  });

  test('the query is decoded, in order, and shown as it was sent', async () => {
    const page = await tests.open();
    await openSent(tests, page, await endpoint(), { path: '/p?b=2&a=1%20x&b=+&flag' });
    await tab(page, /^Query \(4\)$/);
    await expectText(panelOf(page), 'b=2&a=1%20x&b=+&flag');
    const names = panelOf(page).getByRole('table', { name: 'Query' }).getByRole('rowheader');
    expect(await names.allInnerTexts()).toEqual(['b', 'a', 'b', 'flag']);
  });

  test('22 Raw is the message as it was sent', async () => {
    const page = await tests.open();
    const id = await endpoint();
    await openSent(tests, page, id, { path: '/a%2fb?x=%41', headers: ['X-Test', 'Yes'], body: '{"a":1}\nnext' });
    await tab(page, /^Raw$/);
    await expectText(panelOf(page), `POST /h/${id}/a%2fb?x=%41 HTTP/1.1`);
    await expectText(panelOf(page), /X-Test: Yes[^]*\{"a":1\}\s+next/);
    expect(await panelOf(page).innerText()).not.toContain('\\u000d');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await panelOf(page).getByRole('button', { name: 'Copy message' }).click();
    const copied = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
    await expect.poll(copied).toMatch(/^POST \/h\/[^]*X-Test: Yes\r?\n[^]*\{"a":1\}\nnext$/);
    await openSent(tests, page, id, { headers: ['X-Test', 'No'], body: Buffer.from([0, 255]) });
    await panelOf(page).getByRole('button', { name: 'Copy head' }).click();
    await expect.poll(copied).toMatch(/X-Test: No\s/);
  });

  test('36 tabs move by arrow keys, and the chosen one stays with the next request', async () => {
    const page = await tests.open();
    const id = await endpoint();
    await openSent(tests, page, id, {});
    const selected = detailOf(page).getByRole('tab', { selected: true });
    await detailOf(page).getByRole('tab', { name: 'Body' }).focus();
    await page.keyboard.press('ArrowRight');
    await expectText(selected, 'Headers');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('tab-headers');
    await page.keyboard.press('End');
    await expectText(selected, 'Raw');
    const panelId = await selected.getAttribute('aria-controls');
    expect(await panelOf(page).getAttribute('id')).toBe(panelId);
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe(panelId);
    await openSent(tests, page, id, { body: 'next' });
    await expectText(selected, 'Raw');
  });

  test('30 a request that was deleted elsewhere says so, and leaves the list', async () => {
    const page = await tests.open();
    const id = await endpoint();
    await tests.capture(id, { body: 'stays' });
    const { id: deleted } = await tests.capture(id, { body: 'goes' });
    await page.goto(`${tests.url}/#/e/${id}`);
    await expect.poll(() => rowsOf(page).count()).toBe(2);
    expect((await tests.owner.remove(deleted)).status).toBe(200);
    await rowsOf(page).first().click();
    await expectText(detailOf(page), 'This request was deleted, or is past its retention.');
    await expect.poll(() => rowsOf(page).count()).toBe(1);
    expect(await page.getByRole('alert').count()).toBe(0);
    await tests.expectComplaint(/404/);
  });
});

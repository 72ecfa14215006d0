import type { Page } from 'playwright-core';
import { beforeEach, expect, test } from 'vitest';
import { shareEndpoint, shareEntry, type CreatedShare } from '../support/shares.ts';
import { describePage, usePage, type PageTests } from './support/page.ts';

let tests: PageTests;
usePage((opened) => {
  tests = opened;
});

let endpoint: string;
let entry: string;
beforeEach(async () => {
  endpoint = (await tests.owner.create()).body.id;
  const headers = ['X-Api-Key', 'k3y', 'Content-Type', 'application/json'];
  entry = (await tests.capture(endpoint, { method: 'POST', headers, body: '{"hello":"world"}' })).id;
});

/** Opens a link as its holder, who has no token of a user. */
async function openLink({ url }: CreatedShare): Promise<Page> {
  return tests.open({ token: null, path: url.slice(tests.url.length) });
}

const shareOf = async (body?: unknown): Promise<CreatedShare> =>
  (await shareEndpoint(tests.owner, endpoint, body)).body;

/** Names of everything that can be pressed. */
const controls = (page: Page): Promise<string[]> =>
  page
    .getByRole('button')
    .evaluateAll((buttons) => buttons.map((button) => button.textContent || button.ariaLabel || ''));

describePage('a share link', () => {
  test('1 its token leaves the address at once, and no address that is asked for has it', async () => {
    const share = await shareOf();
    const asked: string[] = [];
    const page = await tests.open({ token: null });
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(share.url);
    await page.getByRole('option').first().waitFor();
    await expect.poll(() => page.url()).toBe(`${tests.url}/s#/e/${endpoint}`);
    await page.goBack();
    await page.goForward();
    await page.getByRole('option').first().waitFor();
    expect(asked.filter((address) => address.includes(share.token))).toEqual([]);
    expect(asked.length).toBeGreaterThan(5);
    expect(await page.title()).not.toContain('hbs_');
  });

  test('to an endpoint lists, refreshes on demand, and says until when and what is hidden', async () => {
    const page = await openLink(await shareOf({ expiresIn: 7_200 }));
    await page.getByText('Not live: shared links are refreshed on demand').waitFor();
    await page.getByText(/The link ends in 2 h, on [-\d]+ \d\d:\d\d \S+\. /).waitFor();
    await page.getByText(`A shared endpoint ${endpoint.slice(0, 8)}, to read.`).waitFor();
    await page.getByText('Secrets in headers and query (***)').waitFor();
    await expect.poll(() => page.getByRole('option').count()).toBe(1);
    await tests.capture(endpoint, { method: 'POST', body: 'later' });
    await page.getByRole('button', { name: 'Refresh' }).click();
    await expect.poll(() => page.getByRole('option').count()).toBe(2);
    await page.getByRole('option').last().click();
    await page.getByRole('tab', { name: /^Headers/ }).click();
    await page.getByRole('tabpanel').getByText('***').first().waitFor();
    expect(await page.getByText('k3y').count()).toBe(0);
    await page.reload();
    await page.getByRole('tab', { name: /^Headers/ }).waitFor();
    await expect.poll(() => page.url()).toBe(`${tests.url}/s#/e/${endpoint}/r/${entry}`);
  });

  test('offers nothing that writes', async () => {
    const page = await openLink(await shareOf());
    await page.getByRole('option').first().click();
    await page.getByRole('tab', { name: /^Body/ }).waitFor();
    const names = await controls(page);
    expect(names).toContain('Refresh');
    expect(names).toContain('Export');
    expect(names.filter((name) => /pause/i.test(name))).toEqual([]);
    await page.keyboard.press('p');
    expect(await page.getByText('Paused').count()).toBe(0);
    expect(await page.getByText('Sender', { exact: true }).count()).toBe(0);
    expect(
      names.filter((name) => /delete|verify|check|share|response|new endpoint|sign|test request/i.test(name)),
    ).toEqual([]);
    const written: string[] = [];
    page.on('request', (request) => void (request.method() !== 'GET' && written.push(request.url())));
    await page.keyboard.press('Delete');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(written).toEqual([]);
  });

  test('to an empty endpoint says so, without telling how to send', async () => {
    const { id } = (await tests.owner.create()).body;
    const page = await openLink((await shareEndpoint(tests.owner, id)).body);
    await page.getByText('captured nothing yet').waitFor();
    expect(await page.getByText('curl').count()).toBe(0);
  });

  test('to one entry opens that alone', async () => {
    await tests.capture(endpoint, { method: 'POST', body: 'another' });
    const page = await openLink((await shareEntry(tests.owner, entry, { redact: false })).body);
    await page.getByText('One shared request').waitFor();
    await page.getByText('Nothing is hidden').waitFor();
    await page.getByRole('tabpanel').getByText('world').first().waitFor();
    expect(await page.getByRole('option').count()).toBe(0);
    await expect.poll(() => page.url()).toBe(`${tests.url}/s#/e/${endpoint}/r/${entry}`);
  });

  test('that is withdrawn, unknown or without its token is said in words', async () => {
    const share = await shareOf();
    const page = await openLink(share);
    await page.getByRole('option').first().waitFor();
    // What the page still asks for would tell it that the link has ended before it is asked to refresh.
    await page.waitForLoadState('networkidle');
    await tests.owner.call('DELETE', `/api/shares/${share.id}`);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByRole('alert').filter({ hasText: 'has expired or was withdrawn' }).waitFor();
    await tests.expectComplaint(/410/);
    await page.goto(`${tests.url}/s#hbs_${'a'.repeat(43)}`);
    await page.getByRole('alert').filter({ hasText: 'does not open anything' }).waitFor();
    await tests.expectComplaint(/401/);
    await page.reload();
    await page.getByText('open the whole link').waitFor();
    await expect.poll(() => page.url()).toBe(`${tests.url}/s`);
  });

  test("in an owner's tab does not sign the owner out", async () => {
    const page = await tests.open({ path: `/#/e/${endpoint}` });
    await page.getByRole('option').first().waitFor();
    await page.goto((await shareOf()).url);
    await page.getByText('A shared endpoint').waitFor();
    await page.goto(`${tests.url}/#/e/${endpoint}`);
    await page.getByRole('button', { name: 'Menu' }).waitFor();
    expect(page.url()).not.toContain('hbs_');
  });
});

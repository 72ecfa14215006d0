import { randomUUID } from 'node:crypto';
import { chromium, type Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { findBrowser } from '../../src/local/programs.ts';
import { client, mintToken, type Client } from '../support/client.ts';
import { closing } from '../support/environment.ts';
import { describePage, usePage, type PageTests } from './support/page.ts';
import { untilLive } from './support/until-live.ts';

let tests: PageTests;
usePage((opened) => {
  tests = opened;
});

function user(name: string): { token: string; api: Client } {
  const token = mintToken(name);
  return { token, api: client(tests.url, token) };
}

async function openMenu(page: Page, item: string): Promise<void> {
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('menuitem', { name: item }).click();
}

const switcher = (page: Page) => page.getByRole('button', { name: /^Endpoint/ });

describePage('endpoints', () => {
  test('several are a table, from which one is opened', async () => {
    const { token, api } = user('many');
    await api.create({ alias: 'orders-of-many' });
    const { id } = (await api.create({ permanent: true })).body;
    await tests.capture('orders-of-many', { body: 'x' });
    const page = await tests.open({ token });
    const row = page.getByRole('row', { name: /orders-of-many/ });
    await expect.poll(() => row.innerText()).toMatch(/1\s+(?:just now|\d+ s ago)\s+in 7 d/);
    expect(await page.getByRole('row', { name: new RegExp(id.slice(0, 8)) }).innerText()).toMatch(/none yet\s+never/);
    await row.getByRole('link').click();
    await switcher(page).waitFor();
    expect(await switcher(page).textContent()).toMatch(/^Endpoint orders-of-many: 1 captured, expires in \d d$/);
    await page.goBack();
    await page.getByRole('heading', { name: 'Your endpoints' }).waitFor();
  });

  test('one alone is opened at once, and Back does not return to where it was not open', async () => {
    const { token, api } = user('single');
    const { id } = (await api.create()).body;
    const page = await tests.open({ token: null, path: '/openapi.json' });
    await page.goto(`${tests.url}/#token=${token}`);
    await page.waitForURL(`${tests.url}/#/e/${id}`);
    await untilLive(page);
    await page.goBack();
    expect(page.url()).toBe(`${tests.url}/openapi.json`);
  });

  test('the switcher that opens before the endpoints have come has the focus in its field then', async () => {
    const { token, api } = user('slow-list');
    for (let i = 0; i < 9; i += 1) await api.create();
    const { id } = (await api.create()).body;
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const prepare = async (page: Page): Promise<void> =>
      void (await page.route(/\/api\/endpoints(\?|$)/, async (route) => {
        await held;
        await route.continue();
      }));
    const page = await tests.open({ token, path: `/#/e/${id}`, prepare });
    await switcher(page).click();
    const list = page.getByRole('listbox', { name: 'Endpoints' });
    await expect.poll(() => list.evaluate((now) => now === document.activeElement)).toBe(true);
    release();
    const field = page.getByRole('combobox', { name: 'Find an endpoint' });
    await expect.poll(() => field.evaluate((now) => now === document.activeElement)).toBe(true);
  });

  test('the switcher finds one of many by keyboard, and gives the focus back', async () => {
    const { token, api } = user('crowd');
    for (let i = 0; i < 9; i += 1) await api.create({ alias: `crowd-${i}` });
    const page = await tests.open({ token, path: `/#/e/${(await api.endpoints()).body.endpoints[0]?.id}` });
    await switcher(page).focus();
    await page.keyboard.press('Enter');
    const field = page.getByRole('combobox', { name: 'Find an endpoint' });
    await expect.poll(() => field.evaluate((now) => now === document.activeElement)).toBe(true);
    await page.keyboard.type('crowd-');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^Endpoint crowd-6/ }).waitFor();

    await switcher(page).click();
    await field.fill('nothing like it');
    await page.getByText('No endpoint has this in its name').waitFor();
    await page.keyboard.press('Escape');
    expect(await field.count()).toBe(0);
    expect(await switcher(page).evaluate((button) => button === document.activeElement)).toBe(true);
  });

  test('the menu is complete by keyboard', async () => {
    const { token, api } = user('keys');
    await api.create();
    const page = await tests.open({ token });
    await untilLive(page);
    const menu = page.getByRole('button', { name: 'Menu' });
    const focused = (): Promise<string> => page.evaluate(() => document.activeElement?.textContent ?? '');
    await menu.press('Enter');
    await page.getByRole('menuitem', { name: 'Show times in UTC' }).press('Enter');
    await menu.press('Enter');
    await page.getByRole('menuitem', { name: 'Show local times' }).waitFor();
    expect(await focused()).toBe('New endpoint …');
    await page.keyboard.press('ArrowUp');
    expect(await focused()).toBe('Sign out');
    await page.keyboard.press('d');
    expect(await focused()).toBe('Delete endpoint …');
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'New endpoint' }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => menu.evaluate((button) => button === document.activeElement)).toBe(true);
  });

  test('a menu stays open while the first visit appears behind it', async () => {
    const { token, api } = user('quick');
    await api.create();
    const page = await tests.open({ token: null });
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/requests?*', async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${tests.url}/#token=${token}`);
    await switcher(page).waitFor();
    await page.getByRole('button', { name: 'Menu' }).click();
    answer();
    await page.getByLabel('URL of this endpoint').waitFor();
    await untilLive(page);
    expect(await page.getByRole('menuitem', { name: 'Sign out' }).count()).toBe(1);
  });

  test('an expiry within a day is said in words, and an expired endpoint stays readable', async () => {
    const { token, api } = user('ageing');
    const { id } = (await api.create({ alias: 'ageing' })).body;
    const { knex } = tests.environment.db;
    const expire = (ms: number) =>
      knex('endpoints')
        .where({ alias: 'ageing' })
        .update({ expires_at: new Date(Date.now() + ms) });
    await expire(5.5 * 3_600_000);
    const page = await tests.open({ token });
    await page.getByRole('button', { name: /^Endpoint ageing.*expires in 6 h/ }).waitFor();
    await expire(-2.5 * 3_600_000);
    await page.reload();
    await page.getByRole('button', { name: /^Endpoint ageing.*expired 2 h ago/ }).waitFor();
    await page.getByRole('heading', { name: 'This endpoint has expired' }).waitFor();
    expect(page.url()).toBe(`${tests.url}/#/e/${id}`);
  });

  test('an address of no endpoint says so, and offers the own ones', async () => {
    const { token, api } = user('lost');
    const { id } = (await api.create({ alias: 'found-again' })).body;
    const other = (await user('stranger').api.create()).body.id;
    for (const missing of [randomUUID(), other]) {
      const page = await tests.open({ token, path: `/#/e/${missing}` });
      await page.getByRole('heading', { name: 'There is no such endpoint here' }).waitFor();
      expect(page.url()).toBe(`${tests.url}/#/e/${missing}`);
      await page.getByRole('link', { name: 'found-again' }).click();
      await page.getByRole('heading', { name: 'Send a webhook to this URL' }).waitFor();
      expect(page.url()).toBe(`${tests.url}/#/e/${id}`);
      await page.context().close();
      await tests.expectComplaint(/status of 404/);
    }
  });

  test('deleting one names the number of its requests', async () => {
    const { token, api } = user('tidy');
    const { id } = (await api.create({ alias: 'tidy-one' })).body;
    await api.create({ alias: 'tidy-two' });
    await api.create({ alias: 'tidy-three' });
    for (const body of ['a', 'b']) await tests.capture(id, { body });
    const page = await tests.open({ token, path: `/#/e/${id}` });
    await page.getByRole('option').first().waitFor();
    await openMenu(page, 'Delete endpoint …');
    const dialog = page.getByRole('dialog', { name: 'Delete endpoint tidy-one?' });
    await dialog.getByText('The 2 requests that it holds are deleted too.').waitFor();
    await dialog.getByRole('button', { name: 'Delete endpoint' }).click();
    await page.getByText('The endpoint tidy-one is deleted').waitFor();
    await page.getByRole('row', { name: /tidy-two/ }).waitFor();
    expect(await page.getByRole('row', { name: /tidy-one/ }).count()).toBe(0);
    expect((await api.endpoint(id)).status).toBe(404);
  });

  test('6 copying works on a secure origin, and says so', async () => {
    const { token, api } = user('copier');
    const { id } = (await api.create()).body;
    const page = await tests.open({ token, permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByRole('button', { name: 'Copy URL' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    await page.getByRole('status').getByText('The URL is copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`${tests.url}/h/${id}`);
  });

  test('6 copying works over plain HTTP on a LAN host, and can be pasted into a dialog', async () => {
    const { token, api } = user('lan');
    const { id } = (await api.create()).body;
    const executablePath = findBrowser();
    const args = ['--no-sandbox', '--host-resolver-rules=MAP hookbay.lan 127.0.0.1'];
    const browser = closing(await chromium.launch({ ...(executablePath && { executablePath }), args }), (open) =>
      open.close(),
    );
    const page = await browser.newPage();
    const lan = tests.url.replace('127.0.0.1', 'hookbay.lan');
    await page.goto(`${lan}/#token=${token}`);
    await untilLive(page);
    expect(await page.evaluate(() => 'clipboard' in navigator)).toBe(false);
    await page.getByRole('button', { name: 'Copy URL' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    await openMenu(page, 'New endpoint …');
    await page.getByRole('textbox', { name: 'Alias' }).press('Control+v');
    expect(await page.getByRole('textbox', { name: 'Alias' }).inputValue()).toBe(`${tests.url}/h/${id}`);
  });
});

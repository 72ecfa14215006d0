import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { client, mintToken, type Client } from '../support/client.ts';
import { describePage, PHONE, usePage, type PageTests } from './support/page.ts';
import { untilLive } from './support/until-live.ts';

const PLANS = { free: { permanentEndpoints: 1 }, tiny: { dailyRequests: 5 }, boundless: { dailyRequests: null } };

let tests: PageTests;
usePage(
  (opened) => {
    tests = opened;
  },
  { PLANS: JSON.stringify(PLANS) },
);

function user(name: string, plan = 'pro'): { token: string; api: Client } {
  const token = mintToken(name, { plan });
  return { token, api: client(tests.url, token) };
}

const urlField = (page: Page): Locator => page.getByLabel('URL of this endpoint');

/** What a field says of itself first: its error, or its hint. */
async function descriptionOf(field: Locator): Promise<string> {
  const [id = ''] = ((await field.getAttribute('aria-describedby')) ?? '').split(' ');
  return field.page().locator(`[id="${id}"]`).innerText();
}

async function openMenu(page: Page, item: string): Promise<void> {
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('menuitem', { name: item }).click();
}

describePage('the start', () => {
  test('3 one click creates an endpoint, and the command that is shown makes a row appear', async () => {
    const page = await tests.open({ token: user('new').token });
    await page.getByRole('button', { name: 'Create an endpoint' }).click();
    await urlField(page).waitFor();
    const selected = await urlField(page).evaluate((field: HTMLTextAreaElement) => ({
      text: field.value.slice(field.selectionStart, field.selectionEnd),
      isFocused: document.activeElement === field,
    }));
    const id = new URL(page.url()).hash.split('/')[2] ?? '';
    expect(selected).toEqual({ text: `${tests.url}/h/${id}`, isFocused: true });
    await page.getByText('Waiting for the first request').waitFor();

    const command = await page.getByLabel('Command').innerText();
    await promisify(execFile)('bash', ['-c', command]);
    await page.getByRole('option').first().waitFor();
    expect(await page.getByRole('option').count()).toBe(1);
    expect(await urlField(page).count()).toBe(0);
  });

  test.each([
    ['wide', { width: 1440, height: 900 }],
    ['on a phone', PHONE],
  ])('4 a test request makes a row without a reload; all of it is in view %s', async (name, viewport) => {
    const { token, api } = user(`tester ${viewport.width}`);
    await api.create();
    const page = await tests.open({ token, viewport });
    await untilLive(page);
    const button = page.getByRole('button', { name: 'Send a test request' });
    const parts = [urlField(page), page.getByLabel('Command'), button, page.getByText('Waiting for the first request')];
    for (const part of parts) {
      const box = await part.boundingBox();
      expect([name, box !== null && box.x >= 0 && box.x + box.width <= viewport.width]).toEqual([name, true]);
      expect([name, box !== null && box.y >= 0 && box.y + box.height <= viewport.height]).toEqual([name, true]);
    }
    expect((await page.getByRole('banner').boundingBox())?.height).toBeLessThan(2 * 60);
    await page.evaluate(() => document.documentElement.setAttribute('data-loaded', 'once'));
    await button.click();
    await page.getByRole('option').first().waitFor();
    expect(await page.getByText('Waiting for the first request').count()).toBe(0);
    expect(await page.locator('html').getAttribute('data-loaded')).toBe('once');
  });

  test('4 a refused test request says why', async () => {
    const { token, api } = user('refused');
    const { id } = (await api.create()).body;
    const page = await tests.open({ token });
    // Otherwise the page learns of the delete itself, by what it still has to ask for.
    await untilLive(page);
    await page.waitForLoadState('networkidle');
    await api.removeEndpoint(id);
    await page.getByRole('button', { name: 'Send a test request' }).click();
    await expect.poll(() => page.getByRole('alert').allInnerTexts()).toContainEqual(expect.stringContaining('(404)'));
    await tests.expectComplaint(/status of 404/);
  });

  test('4 where another origin captures, the command is left', async () => {
    const owner = user('elsewhere');
    const { id } = (await owner.api.create()).body;
    for (const [extra, buttons] of [
      [{}, 1],
      [{ CAPTURE_BASE_URL: 'https://in.example.com' }, 0],
    ] as const) {
      const api = await tests.environment.startApi(extra);
      const page = await tests.open({ token: null, path: '/openapi.json' });
      await page.goto(`${api.url}/#token=${owner.token}`);
      await untilLive(page);
      await urlField(page).waitFor();
      await expect.poll(() => page.getByRole('button', { name: 'Send a test request' }).count()).toBe(buttons);
      const host = buttons === 1 ? 'hooks.example.com' : 'in.example.com';
      expect(await urlField(page).inputValue()).toBe(`https://${host}/h/${id}`);
      await expect.poll(() => page.getByText('use the command').count()).toBe(1 - buttons);
      await page.context().close();
      await api.stop();
    }
  });

  test('5 what the API refuses is said next to its field', async () => {
    await user('first').api.create({ alias: 'taken-already' });
    const page = await tests.open({ token: user('second').token });
    await page.getByRole('button', { name: 'With an alias …' }).click();
    const alias = page.getByRole('textbox', { name: 'Alias' });
    const create = page.getByRole('dialog').getByRole('button', { name: 'Create' });
    for (const [text, said, status] of [
      ['No Spaces', 'May hold a-z, 0-9 and inner hyphens only', 400],
      ['taken-already', 'The alias "taken-already" is taken', 409],
    ] as const) {
      await alias.fill(text);
      await create.click();
      await expect.poll(() => descriptionOf(alias)).toBe(said);
      expect(await alias.getAttribute('aria-invalid')).toBe('true');
      await tests.expectComplaint(new RegExp(`status of ${status}`));
    }
    await alias.fill('free-again');
    await page.getByRole('checkbox', { name: 'Permanent' }).check();
    await create.click();
    await page.getByRole('button', { name: /^Endpoint free-again.*permanent/ }).waitFor();
    expect(await urlField(page).inputValue()).toBe(`${tests.url}/h/free-again`);
  });

  test('5 what the plan does not allow is said next to its field', async () => {
    const { token, api } = user('frugal', 'free');
    await api.create({ permanent: true });
    const page = await tests.open({ token });
    await openMenu(page, 'New endpoint …');
    const alias = page.getByRole('textbox', { name: 'Alias' });
    const permanent = page.getByRole('checkbox', { name: 'Permanent' });
    const create = page.getByRole('dialog').getByRole('button', { name: 'Create' });
    await alias.fill('not-for-free');
    await create.click();
    await expect.poll(() => descriptionOf(alias)).toBe('The plan "free" has no custom aliases');
    await tests.expectComplaint(/status of 403/);
    await alias.fill('');
    await permanent.check();
    await create.click();
    await expect.poll(() => descriptionOf(permanent)).toBe('Your plan allows 1 permanent endpoints, and you have 1');
    await tests.expectComplaint(/status of 403/);
  });

  test('7 the meter counts arrivals of the cap; a 429 says until when', async () => {
    const { token, api } = user('small', 'tiny');
    const { id } = (await api.create()).body;
    await api.create({ permanent: true });
    for (let i = 0; i < 3; i += 1) await tests.capture(id, { body: 'x' });
    const page = await tests.open({ token, path: `/#/e/${id}` });
    const meter = page.getByRole('banner');
    await meter.getByText('3 / 5 today').waitFor();
    await untilLive(page);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await tests.capture(id, { body: 'x' });
    await meter.getByText('4 / 5 today, near the cap').waitFor();
    await tests.capture(id, { body: 'x' });
    await meter.getByText('Cap reached until 00:00 UTC').waitFor();
    expect(asked).not.toContain('/api/endpoints');

    // What was counted on arrival is not counted again with the next answer.
    const answered = page.waitForResponse((response) => response.url().endsWith('/api/endpoints'));
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await (await answered).finished();
    expect(await meter.getByTitle(/^5 of 5 captures today/).count()).toBe(1);

    await page.getByRole('button', { name: /^Endpoint/ }).click();
    await page.getByRole('option', { name: /permanent/ }).click();
    await page.getByRole('button', { name: 'Send a test request' }).click();
    await expect
      .poll(() => page.getByRole('alert').innerText())
      .toMatch(/allows 5 requests a day.*\(429\).*again from 00:00 UTC/);
    await tests.expectComplaint(/status of 429/);
  });

  test('7 without a cap the meter says the number alone', async () => {
    const { token, api } = user('insatiable', 'boundless');
    const { id } = (await api.create()).body;
    await tests.capture(id, { body: 'x' });
    const page = await tests.open({ token });
    const meter = page.getByRole('banner').getByText(/today$/);
    await expect.poll(() => meter.innerText()).toBe('1 today');
  });
});

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { client, mintToken } from '../support/client.ts';
import { closing } from '../support/environment.ts';
import { describePage, usePage, type PageTests } from './support/page.ts';
import { untilLive } from './support/until-live.ts';

/** A slow answer, for what may happen meanwhile. */
const SLOW_MS = 1_000;

let tests: PageTests;
usePage((opened) => {
  tests = opened;
});

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** The endpoint of a new user, with captures of the given bodies. */
async function newUser(name: string, bodies: string[]): Promise<{ token: string; id: string; requests: string[] }> {
  const token = mintToken(name);
  const { id } = (await client(tests.url, token).create()).body;
  const requests: string[] = [];
  for (const body of bodies) requests.push((await tests.capture(id, { body })).id);
  return { token, id, requests };
}

/** The addresses of all entries of a tab's history. */
async function historyOf(page: Page): Promise<string[]> {
  const session = closing(await page.context().newCDPSession(page), (open) => open.detach().catch(() => {}));
  const { entries } = await session.send('Page.getNavigationHistory');
  return entries.map(({ url }) => url);
}

describePage('signing in', () => {
  test('1 a link signs in, and the token is in no address, title or request', async () => {
    const { token, id } = await newUser('link', ['hello']);
    const page = await tests.open({ token: null, path: '/openapi.json' });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    page.on('websocket', (socket) => asked.push(socket.url()));
    await page.goto(`${tests.url}/#token=${token}`);
    await untilLive(page);
    await page.getByRole('option').first().click();
    await page.waitForURL((url) => url.hash.includes('/r/'));
    expect(page.url()).toContain(`#/e/${id}/r/`);
    const seen = [page.url(), await page.title(), ...(await historyOf(page)), ...asked];
    expect(seen.filter((text) => text.includes(token))).toEqual([]);
    expect(asked.some((url) => url.startsWith('ws'))).toBe(true);
  });

  test('1 a link that is opened in a tab of somebody else begins anew, and names where to go', async () => {
    const first = await newUser('before', ['theirs']);
    const second = await newUser('after', ['mine']);
    const page = await tests.open({ token: first.token, path: `/#/e/${first.id}/r/${first.requests[0]}` });
    await page.getByRole('option').first().waitFor();
    const path = encodeURIComponent(`/e/${second.id}`);
    await page.goto(`${tests.url}/#token=${second.token}&to=${path}`);
    await page.waitForURL(`${tests.url}/#/e/${second.id}`);
    await page.getByRole('option').first().waitFor();
    expect((await historyOf(page)).join(' ')).not.toContain('token=');
    await page.getByRole('button', { name: /^Endpoint/ }).click();
    await expect.poll(() => page.getByRole('dialog', { name: 'Endpoints' }).getByRole('option').count()).toBe(1);
  });

  test('1 what people copy with a token is left out, and an empty form asks for one', async () => {
    const { token } = await newUser('paste', []);
    const page = await tests.open({ token: null });
    await page.getByRole('button', { name: 'Sign in' }).click();
    expect(await page.getByRole('alert').textContent()).toContain('Paste a token');
    const field = page.getByLabel('Token');
    expect(await field.getAttribute('type')).toBe('password');
    await page.getByRole('button', { name: 'Show' }).click();
    expect(await field.getAttribute('type')).toBe('text');
    await signIn(page, `  Authorization: Bearer ${token}\n`);
    await page.getByLabel('URL of this endpoint').waitFor();
  });

  test('2 a refused token shows the reason and the form, and signing out forgets it', async () => {
    const expired = mintToken('late', { plan: 'pro' }, { expiresIn: '-1h' });
    const page = await tests.open({ token: null });
    // The page that is left must not end the session of the one that comes.
    await page.route(`${tests.url}/`, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
      await route.continue();
    });
    await page.goto(`${tests.url}/#token=${expired}`);
    const width = () => page.getByLabel('Token', { exact: true }).evaluate((field) => field.clientWidth);
    await expect.poll(width).toBeGreaterThan(400);
    await expect.poll(() => page.getByRole('alert').textContent()).toBe('The token has expired');
    await tests.expectComplaint(/status of 401/);
    await signIn(page, 'nonsense');
    await expect
      .poll(() => page.getByRole('alert').textContent())
      .toMatch(/^This token is not valid\. .*A valid bearer token is required/);
    await tests.expectComplaint(/status of 401/);

    const { token } = await newUser('leaver', ['hello']);
    await signIn(page, token);
    await page.getByRole('option').first().waitFor();
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    expect(await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]))).not.toContain(token);
    expect(new URL(page.url()).hash).toBe('');
  });

  test('2 a token of an unknown plan says so, and another one can be given', async () => {
    const page = await tests.open({ token: mintToken('golden', { plan: 'gold' }) });
    await page.getByRole('heading', { name: 'Your endpoints could not be read' }).waitFor();
    expect(await page.getByRole('alert').textContent()).toBe('The plan "gold" of your token is not known here');
    await tests.expectComplaint(/status of 403/);
    await page.getByRole('button', { name: 'Use another token' }).click();
    await signIn(page, mintToken('golden'));
    await page.getByRole('button', { name: 'Create an endpoint' }).waitFor();
  });

  test('2 a token that ends while the page is open asks for another one, and the same entry is open again', async () => {
    const { id, requests } = await newUser('shift', ['hello']);
    const brief = mintToken('shift', { plan: 'pro' }, { expiresIn: '8s' });
    const path = `/#/e/${id}/r/${requests[0]}`;
    const page = await tests.open({ token: brief, path });
    await untilLive(page);
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toMatch(/token/i);
    expect(page.url()).toBe(`${tests.url}${path}`);
    await signIn(page, mintToken('shift'));
    await page.getByRole('option', { selected: true }).waitFor();
    await untilLive(page);
    expect(page.url()).toBe(`${tests.url}${path}`);
  });

  test('28 a permalink opens endpoint, entry and filter in a new tab after the sign-in', async () => {
    const { token, id, requests } = await newUser('reader', ['alpha', 'beta', 'alpha two']);
    const path = `/#/e/${id}/r/${requests[0]}?q=alpha`;
    const page = await tests.open({ token: null, path });
    await signIn(page, token);
    await page.getByRole('option', { selected: true }).waitFor();
    expect(await page.getByRole('option').count()).toBe(2);
    expect(await page.getByRole('searchbox').first().inputValue()).toBe('alpha');
    expect(page.url()).toBe(`${tests.url}${path}`);
  });

  test('28 Back and Forward go through endpoints and entries', async () => {
    const { token, id, requests } = await newUser('walker', ['hello']);
    const other = (await client(tests.url, token).create({ alias: 'second-stop' })).body.id;
    await tests.capture(other, { body: 'there' });
    const page = await tests.open({ token, path: `/#/e/${id}` });
    await page.getByRole('option').first().click();
    await page.waitForURL(`${tests.url}/#/e/${id}/r/${requests[0]}`);
    await page.getByRole('button', { name: /^Endpoint/ }).click();
    await page.getByRole('option', { name: /second-stop/ }).click();
    await page.waitForURL(`${tests.url}/#/e/${other}`);

    await page.goBack();
    await page.getByRole('option', { selected: true }).waitFor();
    expect(page.url()).toBe(`${tests.url}/#/e/${id}/r/${requests[0]}`);
    await page.goBack();
    await expect.poll(() => page.getByRole('option', { selected: true }).count()).toBe(0);
    expect(page.url()).toBe(`${tests.url}/#/e/${id}`);
    await page.goForward();
    await page.getByRole('option', { selected: true }).waitFor();
    await page.goForward();
    await page.getByRole('button', { name: /^Endpoint second-stop/ }).waitFor();
    expect(page.url()).toBe(`${tests.url}/#/e/${other}`);
  });
});

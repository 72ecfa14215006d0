import { createHmac } from 'node:crypto';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describePage, usePage, type PageTests } from './support/page.ts';

let tests: PageTests;
usePage((opened) => {
  tests = opened;
});

const SECRET = 'a secret';
const BODY = '{"action":"opened"}';
const MAX_TABS = 60;

/** What has the focus: its role in a word, and its name. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const it = document.activeElement as HTMLElement;
    const label = it.ariaLabel ?? (it as HTMLInputElement).labels?.[0]?.textContent ?? it.textContent;
    return `${it.getAttribute('role') ?? it.tagName.toLowerCase()} ${label.trim().slice(0, 60)}`;
  });

/** Whether a ring is around what has the focus: its own outline, or one that is drawn around its box. */
const hasRing = (page: Page): Promise<boolean> =>
  page.evaluate(() => {
    const isDrawn = (it: Element, part?: string): boolean => {
      const { outlineStyle, borderTopStyle, content } = getComputedStyle(it, part);
      return part === undefined ? outlineStyle !== 'none' : content !== 'none' && borderTopStyle === 'solid';
    };
    const it = document.activeElement;
    const around = [it, it?.parentElement, it?.parentElement?.parentElement].filter((box) => box instanceof Element);
    return around.some((box) => isDrawn(box) || isDrawn(box, '::after'));
  });

/** Presses Tab until something has the focus. Each press has to move it on, and to where it is seen. */
async function tabTo(page: Page, wanted: RegExp, key = 'Tab'): Promise<void> {
  for (let tabs = 0; tabs < MAX_TABS; tabs += 1) {
    await page.keyboard.press(key);
    const isMoved = await page.evaluate(() => {
      const marked = document.querySelector('[data-test-was]');
      marked?.removeAttribute('data-test-was');
      document.activeElement?.setAttribute('data-test-was', '');
      return marked !== document.activeElement;
    });
    expect([await focused(page), isMoved]).toEqual([expect.any(String), true]);
    const name = await focused(page);
    if (name.startsWith('body')) continue;
    expect([name, await hasRing(page)]).toEqual([name, true]);
    if (wanted.test(name)) return;
  }
  throw new Error(`${String(wanted)} was not reached by ${key}; last: ${await focused(page)}`);
}

const press = async (page: Page, ...keys: string[]): Promise<void> => {
  for (const key of keys) await page.keyboard.press(key);
};

describePage('without a mouse', () => {
  test('36 sign in, create, find, open, switch the tab, verify, copy and delete', async () => {
    const page = await tests.open({ token: null });
    await page.getByLabel('Token').waitFor();
    await page.keyboard.insertText(tests.token);
    await press(page, 'Enter');
    await page.getByRole('button', { name: 'Menu' }).waitFor();

    await tabTo(page, /^button Menu/);
    await press(page, 'Enter');
    await expect.poll(() => focused(page)).toMatch(/^menuitem New endpoint/);
    await press(page, 'Enter');
    await page.getByRole('dialog', { name: 'New endpoint' }).waitFor();
    await tabTo(page, /^input Alias/);
    await page.keyboard.insertText('till');
    await press(page, 'Enter');
    await page.getByText('Waiting for the first request').waitFor();
    const { id } = (await tests.owner.endpoints()).body.endpoints.find(({ alias }) => alias === 'till') ?? { id: '' };
    const signature = `sha256=${createHmac('sha256', SECRET).update(BODY).digest('hex')}`;
    const headers = ['Content-Type', 'application/json', 'X-GitHub-Event', 'issues', 'X-Hub-Signature-256', signature];
    await tests.capture(id, { method: 'POST', headers, body: BODY });
    await tests.capture(id, { method: 'POST', body: 'another' });
    await expect.poll(() => page.getByRole('option').count()).toBe(2);

    await press(page, '/');
    await expect.poll(() => focused(page)).toMatch(/^input Filter/);
    await page.keyboard.type('jkp?opened');
    await expect.poll(() => page.getByRole('searchbox').first().inputValue()).toBe('jkp?opened');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await press(page, 'Home');
    await press(page, 'Delete', 'Delete', 'Delete', 'Delete');
    await expect.poll(() => page.getByRole('option').count()).toBe(1);

    await tabTo(page, /^listbox Requests/);
    await press(page, 'ArrowDown', 'Enter');
    await page.getByRole('tab', { name: 'Body' }).waitFor();
    await tabTo(page, /^button Verify/);
    await press(page, 'Enter');
    await page.getByLabel('Secret').waitFor();
    if (!(await focused(page)).startsWith('input Secret')) await tabTo(page, /^input Secret/);
    await page.keyboard.insertText(SECRET);
    await press(page, 'Enter');
    await page.getByText('✓ Valid').waitFor();

    await tabTo(page, /^tab Body/);
    await press(page, 'ArrowRight');
    await page.getByRole('tab', { name: /^Headers/, selected: true }).waitFor();
    await tabTo(page, /^button Copy as curl/, 'Shift+Tab');
    await press(page, 'Enter');
    await page.getByText('The command is copied').waitFor();

    await tabTo(page, /^button Delete/);
    await press(page, 'Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: /^Delete/ }).waitFor();
    await tabTo(page, /^button Delete/);
    await press(page, 'Enter');
    await expect
      .poll(async () => (await tests.owner.list(id)).body.requests.map(({ body }) => body))
      .toEqual(['another']);
  });

  test('36 the focus returns to the list when what is open is closed, and Tab never stays', async () => {
    const { id } = (await tests.owner.create()).body;
    for (const body of ['one', 'two', 'three']) await tests.capture(id, { method: 'POST', body });
    const page = await tests.open({ path: `/#/e/${id}` });
    await page.getByRole('option').first().waitFor();
    await tabTo(page, /^listbox Requests/);
    await press(page, 'End', 'Enter');
    await page.getByRole('tab', { name: 'Body' }).waitFor();
    await tabTo(page, /^tab Body/);
    await press(page, 'Escape');
    await page.getByRole('tab', { name: 'Body' }).waitFor({ state: 'detached' });
    await expect.poll(() => focused(page)).toMatch(/^listbox Requests/);
    await press(page, '?');
    await page.getByRole('dialog', { name: 'Keyboard help' }).waitFor();
    await press(page, 'j', 'Escape');
    await page.getByRole('dialog', { name: 'Keyboard help' }).waitFor({ state: 'detached' });
    expect(page.url()).toBe(`${tests.url}/#/e/${id}`);
    await expect.poll(() => focused(page)).toMatch(/^listbox Requests/);
    await press(page, 'j');
    await page.getByRole('tab', { name: 'Body' }).waitFor();
  });
});

describePage('preferences of the system', () => {
  test('39 with reduced motion nothing moves', async () => {
    const { id } = (await tests.owner.create()).body;
    const page = await tests.open({ path: `/#/e/${id}`, reducedMotion: 'reduce' });
    await page.getByText('Waiting for the first request').waitFor();
    expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
    await tests.capture(id, { method: 'POST', body: 'one' });
    await page.getByRole('option').first().click();
    await page.getByRole('tab', { name: 'Body' }).waitFor();
    expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
  });

  test('40 light and dark follow the system, also while the page is open, from the first paint on', async () => {
    const page = await tests.open({ token: null, colorScheme: 'dark' });
    const background = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await page.emulateMedia({ colorScheme: 'light' });
    await expect.poll(background).not.toBe(dark);
    // Styles are named in the head, and the browser knows of both before they have come: nothing flashes.
    const html = (await (await page.reload())?.text()) ?? '';
    expect(html.indexOf('<link rel="stylesheet"')).toBeLessThan(html.indexOf('<body>'));
    expect(html).toContain('<meta name="color-scheme" content="light dark">');
  });
});

import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { client, mintToken } from '../support/client.ts';
import { eventually } from '../support/environment.ts';
import { describePage, PHONE, usePage, type PageTests } from './support/page.ts';

let tests: PageTests;
usePage((opened) => {
  tests = opened;
});

const run = promisify(execFile);
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

async function openEntry(endpoint: string, id: string, options: Parameters<PageTests['open']>[0] = {}): Promise<Page> {
  const page = await tests.open({
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
    path: `/#/e/${endpoint}/r/${id}`,
  });
  await page.getByRole('group', { name: 'Actions' }).waitFor();
  return page;
}

const newEndpoint = async (): Promise<string> => (await tests.owner.create()).body.id;
const clipboard = (page: Page): Promise<string> => page.evaluate(() => navigator.clipboard.readText());

/** The text that a button of the toolbar, or of its menu, puts into the clipboard. */
async function copied(page: Page, name: string, said: string): Promise<string> {
  const button = page.getByRole('button', { name, exact: true });
  if (!(await button.isVisible())) await page.getByText('More', { exact: true }).click();
  await button.click();
  await page.getByRole('status').filter({ hasText: said }).waitFor();
  return clipboard(page);
}

const BODIES: [name: string, body: Buffer][] = [
  ["it's", Buffer.from("it's")],
  ['@/etc/passwd', Buffer.from('@/etc/passwd')],
  ['$(id)', Buffer.from('$(id) `id` $HOME !! "\\')],
  ['newlines', Buffer.from('\nfirst\r\n\n')],
  ['ESC', Buffer.from('\u001b[2J\u001b]0;x\u0007')],
  ['an emoji', Buffer.from('🦆 ünï')],
  ['no text', Buffer.from([0, 255, 10, 0])],
];

describePage('taking a request away', () => {
  test.each(BODIES)('27 the copied command sends the same again: %s', async (_name, body) => {
    const [from, to] = [await newEndpoint(), await newEndpoint()];
    const target = "/it's/$(id)/%F0%9F%A6%86/../x?a=$HOME&b='&c=%00&c=`id`&d=a+b";
    const { id } = await tests.capture(`${from}${target}`, {
      method: 'PATCH',
      headers: ['X-Note', "it's $(id)", 'Content-Type', 'text/plain'],
      body,
    });
    const page = await openEntry(from, id);
    const command = await copied(page, 'Copy as curl', 'The command is copied');
    expect(command).not.toContain(tests.token);
    await run('bash', ['-c', command.replaceAll(from, to)], { env: { PATH: process.env['PATH'], TOKEN: tests.token } });
    const sent = (await tests.owner.list(to, '?raw=true')).body.requests;
    expect(sent).toHaveLength(1);
    const entry = (await tests.owner.entry(id, '?raw=true')).body;
    expect(sent[0]).toMatchObject({
      method: 'PATCH',
      target: entry.target?.replace(from, to),
      body: entry.body,
      body_encoding: entry.body_encoding,
      headers: { 'x-note': "it's $(id)", 'content-type': 'text/plain' },
    });
    expect(entry.target).toBe(`/h/${from}${target}`);
  });

  test('27 a body over 256 KiB comes through the pipe', async () => {
    const [from, to] = [await newEndpoint(), await newEndpoint()];
    const body = randomBytes(300_000);
    const { id } = await tests.capture(from, { body });
    const page = await openEntry(from, id);
    const command = await copied(page, 'Copy as curl', 'The command is copied');
    // The endpoint is named in the second half alone; the first reads the entry.
    await run('bash', ['-c', command.replaceAll(from, to)], { env: { PATH: process.env['PATH'], TOKEN: tests.token } });
    const [sent] = (await tests.owner.list(to)).body.requests;
    expect(sha256((await tests.owner.body(sent?.id ?? '')).bytes)).toBe(sha256(body));
  });

  test('27 link, body and message are copied, too; none has the token', async () => {
    const endpoint = await newEndpoint();
    const { id } = await tests.capture(`${endpoint}/a?b=c`, { body: '{"a": 1.0}', headers: ['X-Case', 'Kept'] });
    const page = await openEntry(endpoint, id);
    expect(await copied(page, 'Copy link', 'The link is copied')).toBe(`${tests.url}/#/e/${endpoint}/r/${id}`);
    expect(await copied(page, 'Copy body', 'The body is copied')).toBe('{"a": 1.0}');
    const message = await copied(page, 'Copy as raw HTTP', 'The message is copied');
    expect(message).toMatch(new RegExp(`^POST /h/${endpoint}/a\\?b=c HTTP/1.1\r?\n`));
    expect(message).toContain('X-Case: Kept');
    expect(message).toMatch(/\r?\n\r?\n\{"a": 1\.0\}$/);
  });

  test('24 a body of 25 MiB is saved as it was sent', async () => {
    const token = mintToken('eve', { plan: 'enterprise' });
    const endpoint = (await client(tests.url, token).create()).body.id;
    const body = randomBytes(25 * 1024 * 1024);
    let id = '';
    // On a slow machine so much may not be stored in time, and is sent again then.
    await eventually(async () => ({ id } = await tests.capture(endpoint, { body })).received);
    const page = await openEntry(endpoint, id, { token });
    await page.getByText('More', { exact: true }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save body as file' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`${id}.bin`);
    expect(sha256(await readFile(await download.path()))).toBe(sha256(body));
    await page.getByRole('status').filter({ hasText: 'are saved' }).waitFor();
  });

  test('24 a download that fails says so', async () => {
    const endpoint = await newEndpoint();
    const { id } = await tests.capture(endpoint, { body: 'gone' });
    const page = await openEntry(endpoint, id);
    await tests.owner.remove(id);
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('button', { name: 'Save body as file' }).click();
    await page.getByRole('status').filter({ hasText: 'The download failed' }).waitFor();
    await tests.expectComplaint(/404/);
    expect(await page.getByRole('button', { name: 'Save body as file' }).count()).toBe(1);
  });

  test('39 on a phone every action is in reach, and the menu closes by Escape without leaving the request', async () => {
    const endpoint = await newEndpoint();
    const { id } = await tests.capture(endpoint, { body: '{}' });
    const page = await openEntry(endpoint, id, { viewport: PHONE });
    const actions = page.getByRole('group', { name: 'Actions' });
    await actions.getByText('More', { exact: true }).click();
    const buttons = await actions.getByRole('button').all();
    expect(buttons.length).toBeGreaterThan(8);
    for (const button of buttons) {
      const box = await button.boundingBox();
      expect([await button.innerText(), box?.height]).toEqual([expect.any(String), expect.toSatisfy((h) => h >= 44)]);
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 999)).toBeLessThanOrEqual(PHONE.width);
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(PHONE.width);
    await page.keyboard.press('Escape');
    await actions.getByRole('button', { name: 'Copy link' }).waitFor({ state: 'hidden' });
    expect(await actions.getByText('More', { exact: true }).evaluate((more) => more === document.activeElement)).toBe(
      true,
    );
    expect(page.url()).toContain(id);
  });
});

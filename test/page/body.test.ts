import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { client, mintToken } from '../support/client.ts';
import { detailOf, expectText, openSent, panelOf, PNG } from './support/detail.ts';
import { describePage, usePage, type PageTests } from './support/page.ts';

const MIB = 1024 * 1024;

let tests: PageTests;
let endpointId: string;
usePage(async (opened) => {
  tests = opened;
  endpointId = (await tests.owner.create()).body.id;
});

function show(page: Page, type: string, body: Buffer | string): Promise<string> {
  return openSent(tests, page, endpointId, { headers: type === '' ? [] : ['Content-Type', type], body });
}

describePage('the body of a request', () => {
  test('21 JSON appears exactly as it was sent, and folds by keyboard', async () => {
    const page = await tests.open();
    const json = '{"id":1152921506151679042,"n":[1.0,1e400,-0],"a":1,"a":"\\u0041\\/","deep":{"x":null}}';
    await show(page, 'application/json', json);
    const lines = panelOf(page).getByRole('group', { name: 'JSON' });
    for (const text of ['"id": 1152921506151679042,', '1.0,', '1e400,', '-0', '"a": 1,', '"a": "\\u0041\\/",'])
      await expectText(lines, text);

    await panelOf(page).getByRole('button', { name: 'Wrap lines' }).focus();
    await page.keyboard.press('Tab');
    const focused = (): Promise<string | null> =>
      page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? null);
    expect(await focused()).toBe('$, 5 members');
    await page.keyboard.press('ArrowDown');
    expect(await focused()).toBe('$.n, 3 items');
    await page.keyboard.press('ArrowLeft');
    const fold = lines.getByRole('button', { name: '$.n, 3 items' });
    await expect.poll(() => fold.getAttribute('aria-expanded')).toBe('false');
    expect(await lines.innerText()).not.toContain('1e400');
    expect(await lines.innerText()).toMatch(/"n": \[ 3 items \],/);
    expect(await focused()).toBe('$.n, 3 items');
    await page.keyboard.press('Enter');
    await expectText(lines, '1e400');

    await panelOf(page).getByRole('button', { name: 'As sent' }).click();
    await expectText(panelOf(page).getByRole('group', { name: 'Text' }), json);
  });

  test('21 a long JSON is shown 500 lines at a time, and folds hide lines that are not shown yet', async () => {
    const page = await tests.open();
    const numbers = Array.from({ length: 5_000 }, (_, i) => `"n${i}"`).join(',');
    await show(page, 'application/json', `{"list":[${numbers}],"last":"here"}`);
    const lines = panelOf(page).getByRole('group', { name: 'JSON' });
    await expectText(panelOf(page), '4,505 lines left');
    expect(await lines.locator('.line').count()).toBe(500);
    await panelOf(page).getByRole('button', { name: 'Show 500 more' }).click();
    await expect.poll(() => lines.locator('.line').count()).toBe(1_000);
    await lines.getByRole('button', { name: '$.list, 5,000 items' }).click();
    await expectText(lines, /"list": \[ 5,000 items \],\s+"last": "here"\s+\}/);
  });

  test('22 form fields, with JSON in one', async () => {
    const page = await tests.open();
    await show(
      page,
      'application/x-www-form-urlencoded',
      'text=a+b%20caf%C3%A9&text=2&bad=%zz&payload=%7B%22id%22%3A1.0%7D',
    );
    const rows = panelOf(page).getByRole('table', { name: 'Form fields' }).getByRole('row');
    await expect.poll(() => rows.allInnerTexts()).toHaveLength(5);
    const texts = await rows.allInnerTexts();
    expect(texts[1]).toMatch(/^text\s+a b café/);
    expect(texts[2]).toMatch(/^text\s+2/);
    expect(texts[3]).toMatch(/^bad\s+%zz/);
    expect(texts[4]).toContain('"id": 1.0');
    const wrap = panelOf(page).getByRole('button', { name: 'Wrap lines' });
    expect(await wrap.count()).toBe(0);
    await panelOf(page).getByRole('button', { name: 'As sent' }).click();
    await wrap.waitFor();
  });

  test('22 parts of a multipart body, with names, files and sizes, each by its content', async () => {
    const page = await tests.open();
    const part = (head: string, body: Buffer | string): Buffer =>
      Buffer.concat([
        Buffer.from(`--XX\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
        Buffer.from(body),
        Buffer.from('\r\n'),
      ]);
    const body = Buffer.concat([
      part('name="title"', 'A title'),
      part('name="picture"; filename="Ünï.html"\r\nContent-Type: text/html', PNG),
      part('name="meta"\r\nContent-Type: application/json', '{"a":1.0}'),
      Buffer.from('--XX--\r\n'),
    ]);
    await show(page, 'multipart/form-data; boundary=XX', body);
    const parts = panelOf(page).getByRole('region', { name: /^Part \d$/ });
    await expect.poll(() => parts.count()).toBe(3);
    await expectText(parts.nth(0), /title\s+7 B[^]*A title/);
    await expectText(parts.nth(1), /picture\s+file Ünï.html\s+text\/html\s+78 B/);
    await expectText(parts.nth(1), 'Sent as text/html, but it is image/png');
    await expectText(parts.nth(1), 'image/png · 10 × 10 pixels');
    await expectText(parts.nth(2), '"a": 1.0');
    const downloads = page.waitForEvent('download');
    await parts.nth(1).getByRole('button', { name: 'Download part 2' }).click();
    const file = await downloads;
    expect(file.suggestedFilename()).toBe('part-2.bin');
    expect(await readFile(await file.path())).toEqual(PNG);
  });

  test('22 XML, plain text, NDJSON, bytes, an image and an empty body: each as itself', async () => {
    const page = await tests.open();
    const panel = panelOf(page);
    await show(page, 'application/xml', '<?xml version="1.0"?><o id="1"><i>a&amp;b</i></o>');
    await expectText(panel.getByRole('group', { name: 'XML' }), /<o id="1">\s+<i>a&amp;b<\/i>\s+<\/o>/);
    await show(page, 'text/plain', 'first\nsecond\tline\n');
    await expectText(panel.getByRole('group', { name: 'Text' }), /first\s+second\tline/);
    await show(page, 'application/x-ndjson', '{"a":1}\n{"b":[2]}\n');
    await expectText(panel, '2 records');
    await panel.getByRole('button', { name: 'Record on line 2' }).click();
    await expectText(panel, /"b": \[\s+2\s+\]/);
    await show(page, 'application/octet-stream', Buffer.from([0, 1, 2, 0xff, 0x41, ...Array<number>(20).fill(0xfe)]));
    await expectText(panel.getByRole('group', { name: 'Bytes' }), '00000000  00 01 02 ff 41 fe fe fe  fe fe fe');
    await expectText(panel.getByRole('group', { name: 'Bytes' }), '00000010  fe fe fe');
    await show(page, 'image/png', PNG);
    await expectText(panel, 'image/png · 10 × 10 pixels');
    await panel.getByRole('button', { name: 'Hex' }).click();
    await expectText(panel, '89 50 4e 47');
    await show(page, 'text/plain', '');
    await expectText(panel, 'The body is empty.');
  });

  test('23 content is shown as what it is, with a note where the content type is wrong', async () => {
    const page = await tests.open();
    await show(page, 'text/plain', '{"n":1.0}');
    await expectText(detailOf(page), 'Sent as text/plain, but it is JSON');
    await expectText(panelOf(page).getByRole('group', { name: 'JSON' }), '"n": 1.0');
    await show(page, 'application/json', Buffer.from([0x80, 0x81, 0, 0, 1]));
    await expectText(detailOf(page), 'Sent as application/json, but it is not JSON');
    await expectText(panelOf(page).getByRole('group', { name: 'Bytes' }), '80 81 00 00 01');
  });

  test('16 a body over 256 KiB is read as a whole when its entry is opened, or when asked for', async () => {
    const page = await tests.open();
    await show(page, 'text/plain', `${'x'.repeat(99)}\n`.repeat(4_000).concat('the end'));
    await expectText(panelOf(page), '3,501 lines left');
    expect(await detailOf(page).getByText('Shown: the first').count()).toBe(0);
    await show(page, 'text/plain', `${'x'.repeat(9_999)}\n`.repeat(200).concat('the end'));
    await expectText(panelOf(page), /Shown: the first 262\.1 kB of 2\.0 MB/);
    await panelOf(page).getByRole('button', { name: 'Show all' }).click();
    await expectText(panelOf(page), 'the end');
    expect(await detailOf(page).getByText('Shown: the first').count()).toBe(0);
  });

  describe('of 25 MiB', () => {
    const body = Buffer.alloc(25 * MIB, '{"some":"json"},\n');
    const token = mintToken('big', { plan: 'enterprise' });
    let [largeEndpointId, id] = ['', ''];
    beforeAll(async () => {
      body.write('[');
      largeEndpointId = (await client(tests.url, token).create()).body.id;
      ({ id } = await tests.capture(largeEndpointId, { body }));
    });

    test('24 it opens in under a second, cut, and its download equals what was sent', async () => {
      const page = await tests.open({ token });
      await openSent(tests, page, largeEndpointId, { body: 'small' });
      const row = page.getByRole('listbox', { name: 'Requests' }).getByRole('option').last();
      await row.waitFor();
      const opened = page.waitForResponse((response) => response.url().includes(`/api/requests/${id}?`));
      const before = performance.now();
      await row.click();
      await panelOf(page).getByText('Shown: the first 262.1 kB of 26.2 MB').waitFor();
      await panelOf(page).getByRole('button', { name: 'Download' }).waitFor();
      const ms = performance.now() - before;
      expect(ms, 'milliseconds').toBeLessThan(1_000);
      expect((await (await opened).body()).length).toBeLessThan(MIB);
      const downloads = page.waitForEvent('download');
      await panelOf(page).getByRole('button', { name: 'Download' }).click();
      const file = await downloads;
      expect(file.suggestedFilename()).toBe(`${id}.bin`);
      expect(sha256(await readFile(await file.path()))).toBe(sha256(body));
    });
  });
});

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

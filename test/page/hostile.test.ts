import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { startRecorder } from '../support/recorder.ts';
import { detailOf, expectText, openSent, panelOf, PNG, tab } from './support/detail.ts';
import { describePage, usePage, type PageTests } from './support/page.ts';

let tests: PageTests;
let endpointId: string;
usePage(async (opened) => {
  tests = opened;
  endpointId = (await tests.owner.create()).body.id;
});

/** Text that would make an element with `data-bait`, run a script, or ask the bait for something. */
function baits(bait: string): string[] {
  return [
    `<script data-bait src="${bait}/script"></script>`,
    `<img data-bait src="${bait}/img" onerror="alert(1)">`,
    `<svg data-bait onload="alert(1)"><image href="${bait}/svg"/></svg>`,
    `<iframe data-bait srcdoc="<script>alert(1)</script>"></iframe>`,
    `<a data-bait href="javascript:alert(1)" autofocus onfocus="alert(1)">x</a>`,
    `<link data-bait rel="stylesheet" href="${bait}/css"><style data-bait>@import "${bait}/import"</style>`,
    `javascript:alert(1)`,
    `{{constructor.constructor('alert(1)')()}} \${alert(1)} <%= alert(1) %> #{alert(1)}`,
    `"><img data-bait src=x onerror=alert(1)>`,
    `</pre></bdi></script><b data-bait>`,
  ];
}

interface Watched {
  page: Page;
  addresses: string[];
  dialogs: string[];
}

async function watch(): Promise<Watched> {
  const page = await tests.open({ path: `/#/e/${endpointId}` });
  const watched: Watched = { page, addresses: [], dialogs: [] };
  page.context().on('request', (request) => void watched.addresses.push(request.url()));
  page.on('dialog', (dialog) => {
    watched.dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  return watched;
}

async function lookAtAll({ page }: Watched): Promise<void> {
  for (const name of [/^Headers/, /^Query/, /^Raw/, /^Body/]) {
    await tab(page, name);
    await expect.poll(() => page.locator('[data-bait]').count()).toBe(0);
  }
  for (const mode of await panelOf(page).getByRole('group', { name: 'Show the body as' }).getByRole('button').all()) {
    await mode.click();
    expect(await page.locator('[data-bait]').count()).toBe(0);
  }
}

function expectNothingHappened({ addresses, dialogs }: Watched): void {
  expect(dialogs).toEqual([]);
  const origin = new URL(tests.url).origin;
  expect(addresses.filter((url) => new URL(url).origin !== origin && !url.startsWith(`blob:${origin}/`))).toEqual([]);
}

describePage('hostile captures', () => {
  test('31 bodies of every kind are text: no element, no request, no dialog', async () => {
    const bait = await startRecorder();
    const watched = await watch();
    const all = baits(bait.url);
    const html = `<!DOCTYPE html><html><body>${all.join('\n')}</body></html>`;
    const part = (text: string): string =>
      `--X\r\nContent-Disposition: form-data; name="${text.replaceAll('"', '%22')}"; filename="${text.replaceAll('"', '%22')}"\r\n` +
      `Content-Type: ${text}\r\n\r\n${text}\r\n`;
    const bodies: [type: string, body: string][] = [
      ['text/html', html],
      ['text/plain', all.join('\n')],
      ['application/json', JSON.stringify(Object.fromEntries(all.map((text) => [text, [text]])))],
      [
        'application/x-www-form-urlencoded',
        all.map((text) => `${encodeURIComponent(text)}=${encodeURIComponent(text)}`).join('&'),
      ],
      ['multipart/form-data; boundary=X', `${all.map(part).join('')}--X--\r\n`],
      [
        'application/xml',
        `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "${bait.url}/entity">]><a>&b;<x>${all[2]}</x></a>`,
      ],
      ['application/xhtml+xml', `<html xmlns="http://www.w3.org/1999/xhtml"><body>${all[2]}</body></html>`],
      ['application/x-ndjson', all.map((text) => JSON.stringify({ [text]: text })).join('\n')],
    ];
    for (const [type, body] of bodies) {
      await openSent(tests, watched.page, endpointId, { headers: ['Content-Type', type], body });
      await lookAtAll(watched);
    }
    expectNothingHappened(watched);
    expect(bait.recorded).toEqual([]);
  });

  test('31 headers, paths, queries, content types and user agents are text', async () => {
    const bait = await startRecorder();
    const watched = await watch();
    for (const text of baits(bait.url)) {
      const path = `/${text.replaceAll(/[ "\\]/g, encodeURIComponent)}`;
      const headers = [
        'User-Agent',
        text,
        'X-Bait',
        text,
        'X-GitHub-Event',
        text,
        'Content-Type',
        text,
        'X-Forwarded-For',
        text,
      ];
      await openSent(tests, watched.page, endpointId, { path: `${path}?${path}=${path}`, headers, body: text });
      await lookAtAll(watched);
    }
    expectNothingHappened(watched);
    expect(bait.recorded).toEqual([]);
  });

  test('34 what is invisible or reorders text is shown as escapes, in headers, query, names and bodies', async () => {
    const { page } = await watch();
    const spoof = 'a\u202etxt.exe';
    const bytes = Buffer.from(spoof).toString('latin1');
    await openSent(tests, page, endpointId, {
      path: `/p?${encodeURIComponent(spoof)}=%00%C2%9B`,
      headers: [
        'X-GitHub-Event',
        bytes,
        'X-Spoof',
        bytes,
        'X-C1',
        '\u009b31m',
        'Content-Type',
        `text/plain; x=${bytes}`,
      ],
      body: `${spoof}\0\u009b31m\u200b\ufeff`,
    });
    await expectText(panelOf(page), 'a\\u202etxt.exe\\u0000\\u009b31m\\u200b\\ufeff');
    await expectText(detailOf(page), 'text/plain; x=a');
    await tab(page, /^Headers/);
    await expectText(panelOf(page), 'a\\u202etxt.exe');
    await expectText(panelOf(page), '\\u009b31m');
    await tab(page, /^Query/);
    await expectText(panelOf(page), 'a\\u202etxt.exe');
    await expectText(panelOf(page), '\\u0000\\u009b');
    await tab(page, /^Raw/);
    await expectText(panelOf(page), 'X-Spoof: a\\u202etxt.exe');
    const list = page.getByRole('listbox', { name: 'Requests' });
    await expectText(list, /a\S*txt\.exe/);
    for (const where of [detailOf(page), list]) expect(await where.innerText()).not.toMatch(/[\u202e\0\u0080-\u009f]/);

    await openSent(tests, page, endpointId, {
      headers: ['Content-Type', 'application/json'],
      body: JSON.stringify({ [spoof]: '\u2066x' }),
    });
    await tab(page, /^Body/);
    await expectText(panelOf(page), '"a\\u202etxt.exe": "\\u2066x"');
  });

  test('34 a body of nothing but hidden characters is drawn in a bounded number of elements', async () => {
    const { page } = await watch();
    await openSent(tests, page, endpointId, {
      headers: ['Content-Type', 'text/plain'],
      body: 'a\u202e'.repeat(50_000),
    });
    await expectText(panelOf(page), 'a\\u202ea\\u202e');
    await panelOf(page)
      .getByRole('button', { name: /^… show the rest/ })
      .click();
    await expect.poll(async () => (await panelOf(page).innerText()).length).toBeGreaterThan(100_000 * 3);
    expect(await panelOf(page).locator('*').count()).toBeLessThan(500);
  });

  test('35 an SVG is text, and a PNG that claims to be HTML is an image', async () => {
    const bait = await startRecorder();
    const watched = await watch();
    const { page } = watched;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script><image href="${bait.url}/svg"/></svg>`;
    for (const type of ['image/svg+xml', 'image/png', 'text/html']) {
      await openSent(tests, page, endpointId, { headers: ['Content-Type', type], body: svg });
      await expectText(panelOf(page).getByRole('group', { name: 'XML' }), '<script>alert(2)</script>');
      expect(await detailOf(page).locator('img, svg, iframe, object, embed').count()).toBe(0);
    }
    await openSent(tests, page, endpointId, { headers: ['Content-Type', 'text/html'], body: PNG });
    await expectText(panelOf(page), 'image/png · 10 × 10 pixels');
    const image = panelOf(page).getByRole('img');
    expect(await image.getAttribute('src')).toMatch(/^blob:/);
    expectNothingHappened(watched);
    expect(bait.recorded).toEqual([]);
  });
});

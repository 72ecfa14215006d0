import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { send } from '../support/client.ts';
import { closing } from '../support/environment.ts';
import { describePage, usePage, type PageTests } from './support/page.ts';

/** Each costs a round trip, and browsers have six at a time. */
const MAX_FIRST_LOAD_REQUESTS = 64;

let tests: PageTests;
let endpointId: string;
usePage(async (opened) => {
  tests = opened;
  endpointId = (await tests.owner.create()).body.id;
  await tests.capture(endpointId, { body: '{"first":1}' });
});

interface Wire {
  addresses: string[];
  bytes: number;
}

/** What a tab asks for from now on, with the bytes of heads and bodies as they came. */
async function watchWire(page: Page): Promise<Wire> {
  const wire: Wire = { addresses: [], bytes: 0 };
  const network = closing(await page.context().newCDPSession(page), (session) => session.detach().catch(() => {}));
  await network.send('Network.enable');
  network.on('Network.requestWillBeSent', ({ request }) => void wire.addresses.push(request.url));
  network.on('Network.loadingFinished', ({ encodedDataLength }) => void (wire.bytes += encodedDataLength));
  return wire;
}

describePage('the page as it is served', () => {
  test('32 the policy is exact, and nothing in the HTML needs more than it allows', async () => {
    const page = await tests.open({ token: null });
    const answer = await page.reload();
    const headers = answer?.headers() ?? {};
    const html = (await answer?.text()) ?? '';
    const nonce = /nonce="([^"]+)"/.exec(html)?.[1] ?? '';
    expect(headers['content-security-policy']).toBe(
      `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'self'; img-src blob:; connect-src 'self'; ` +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
        "trusted-types 'none'",
    );
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    });
    const inline = (html.match(/<script\b[^>]*>/g) ?? []).filter((tag) => !/\ssrc=/.test(tag));
    expect(inline).toEqual([`<script type="importmap" nonce="${nonce}">`]);
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/);
  });

  test('32 no text becomes HTML, no script without the nonce runs, and no style is inline', async () => {
    const page = await tests.open({ token: null });
    const thrown = await page.evaluate(() => {
      try {
        document.body.innerHTML = '';
        return 'nothing';
      } catch (error) {
        return (error as Error).name;
      }
    });
    expect(thrown).toBe('TypeError');
    await tests.expectComplaint(/TrustedHTML/);
    await page
      .evaluate(() => {
        const script = document.createElement('script');
        script.src = '/h/anything';
        document.head.append(script);
      })
      .catch(() => {});
    await tests.expectComplaint(/TrustedScriptURL/);
    await page.evaluate(() => document.body.setAttribute('style', 'color: red'));
    await tests.expectComplaint(/inline style/);
  });

  test('33 every answer below /h/ is sandboxed, and a document there reads nothing of the page', async () => {
    const { id } = (await tests.owner.create()).body;
    const response = {
      status: 200,
      headers: { 'Content-Type': 'text/html' },
      body: '<title>still</title><script>document.title = sessionStorage.getItem("kept")</script>',
    };
    expect((await tests.owner.call('PUT', `/api/endpoints/${id}/response`, response)).status).toBe(200);
    const { id: plain } = (await tests.owner.create()).body;
    for (const [method, path] of [
      ['POST', plain],
      ['GET', id],
      ['HEAD', id],
      ['OPTIONS', plain],
      ['POST', 'unknown'],
      ['GET', `${id}/deeper?a=<b>`],
    ] as const) {
      const { headers } = await send(`${tests.url}/h/${path}`, { method });
      expect([method, path, headers['content-security-policy']]).toEqual([
        method,
        path,
        expect.stringMatching(/\bsandbox\b/),
      ]);
    }

    const page = await tests.open({ token: null });
    await page.evaluate(() => sessionStorage.setItem('kept', 'read'));
    const [opened] = await Promise.all([
      page.context().waitForEvent('page'),
      // As a careless link would: the new tab gets a copy of what this one keeps.
      page.evaluate((path) => void window.open(path), `/h/${id}`),
    ]);
    await opened.waitForLoadState();
    expect(await opened.title()).toBe('still');
    await tests.expectComplaint(/sandboxed/);
    const links = await page
      .locator('a[href*="/h/"]')
      .evaluateAll((all) => all.map((a) => a.getAttribute('rel') ?? ''));
    expect(links.filter((rel) => !/\bnoopener\b/.test(rel))).toEqual([]);
  });

  test.each([
    ['before the sign-in', 80_000, () => '/'],
    ['signed in', 80_000, () => `/#token=${tests.token}`],
    ['with an endpoint, until it is live', 92_000, () => `/#token=${tests.token}&to=/e/${endpointId}`],
  ])('41 the first load, %s, is under %d bytes, and from its own origin', async (_when, maxBytes, path) => {
    const page = await tests.open({ token: null, path: '/openapi.json' });
    const wire = await watchWire(page);
    await page.goto(`${tests.url}${path()}`, { waitUntil: 'networkidle' });
    await page.locator('h1').first().waitFor({ state: 'attached' });
    await expect.poll(() => page.locator('.status[data-state=live], .sign-in, .start').count()).toBeGreaterThan(0);
    expect(wire.addresses.length).toBeGreaterThan(3);
    expect(wire.addresses.length).toBeLessThan(MAX_FIRST_LOAD_REQUESTS);
    expect(
      wire.addresses.filter(
        (address) => !/^(?:blob|data):/.test(address) && new URL(address).host !== new URL(tests.url).host,
      ),
    ).toEqual([]);
    expect(wire.bytes).toBeGreaterThan(5_000);
    expect(wire.bytes).toBeLessThan(maxBytes);
    // A browser takes brotli from safe origins only; from others it is this.
    const files = wire.addresses.filter((address) => address.includes('/page/'));
    const gzipped = await Promise.all(files.map((file) => send(file, { headers: ['Accept-Encoding', 'gzip'] })));
    expect(gzipped.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThan(maxBytes);
    process.stdout.write(`first load: ${wire.addresses.length} requests, ${wire.bytes} bytes\n`);
  });

  test('41 the HTML names every module of the first load, and a second load has them without asking', async () => {
    const page = await tests.open({ token: null });
    const named = await page
      .locator('link[rel=modulepreload], script[src]')
      .evaluateAll((all) => all.map((one) => (one as HTMLLinkElement).href || (one as HTMLScriptElement).src));
    const again = await page.context().newPage();
    await again.goto(tests.url);
    const loaded = await again.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .map((entry) => [entry.name, (entry as PerformanceResourceTiming).transferSize] as const)
        .filter(([address]) => address.includes('/page/')),
    );
    expect(loaded.length).toBeGreaterThan(1);
    expect(loaded.filter(([, bytes]) => bytes > 0)).toEqual([]);
    const scripts = loaded.map(([address]) => address).filter((address) => !address.endsWith('.css'));
    // The form to sign in comes when it is needed, which is here.
    const others = scripts.filter((address) => !named.includes(address)).map((address) => address.split('/page/')[1]);
    expect(others.filter((path) => !/\/(?:view\/start\/sign-in|model\/token)\.ts$/.test(path ?? ''))).toEqual([]);
  });
});

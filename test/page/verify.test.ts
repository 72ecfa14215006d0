import { createHmac } from 'node:crypto';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describePage, usePage, type PageTests } from './support/page.ts';

let tests: PageTests;
usePage((opened) => {
  tests = opened;
});

const SECRET = 'a-secret-of-42-characters-that-none-may-keep';
const hmac = (text: string, encoding: 'hex' | 'base64' = 'hex', key: string | Buffer = SECRET): string =>
  createHmac('sha256', key).update(text).digest(encoding);
const now = String(Math.floor(Date.now() / 1_000));
const STANDARD_KEY = Buffer.from(SECRET);

interface Provider {
  name: string;
  event: string;
  id: string;
  secret: string;
  body: string;
  headers: (body: string) => Record<string, string>;
}

const PROVIDERS: Provider[] = [
  {
    name: 'GitHub',
    event: 'push',
    id: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    secret: SECRET,
    body: '{"ref":"refs/heads/main"}',
    headers: (body) => ({
      'X-GitHub-Event': 'push',
      'X-GitHub-Delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
      'X-Hub-Signature-256': `sha256=${hmac(body)}`,
    }),
  },
  {
    name: 'Stripe',
    event: 'invoice.paid',
    id: 'evt_1NG8Du2eZvKYlo2CUI79vXWy',
    secret: SECRET,
    body: '{"id":"evt_1NG8Du2eZvKYlo2CUI79vXWy","object":"event","type":"invoice.paid"}',
    headers: (body) => ({ 'Stripe-Signature': `t=${now},v1=${hmac(`${now}.${body}`)}` }),
  },
  {
    name: 'Shopify',
    event: 'orders/create',
    id: 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd043',
    secret: SECRET,
    body: '{"id":820982911946154508}',
    headers: (body) => ({
      'X-Shopify-Topic': 'orders/create',
      'X-Shopify-Webhook-Id': 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd043',
      'X-Shopify-Hmac-Sha256': hmac(body, 'base64'),
    }),
  },
  {
    name: 'Slack',
    event: 'app_mention',
    id: 'Ev08MFMKH6',
    secret: SECRET,
    body: '{"type":"event_callback","event_id":"Ev08MFMKH6","team_id":"T1","event":{"type":"app_mention"}}',
    headers: (body) => ({
      'X-Slack-Request-Timestamp': now,
      'X-Slack-Signature': `v0=${hmac(`v0:${now}:${body}`)}`,
    }),
  },
  {
    name: 'Standard Webhooks',
    event: 'contact.created',
    id: 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W',
    secret: `whsec_${STANDARD_KEY.toString('base64')}`,
    body: '{"type":"contact.created","data":{}}',
    headers: (body) => ({
      'Webhook-Id': 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W',
      'Webhook-Timestamp': now,
      'Webhook-Signature': `v1,${hmac(`msg_2KWPBgLlAfxdpx2AI54pPJ85f4W.${now}.${body}`, 'base64', STANDARD_KEY)}`,
    }),
  },
];

const newEndpoint = async (): Promise<string> => (await tests.owner.create()).body.id;

const entryPath = (endpoint: string, id: string): string => `/#/e/${endpoint}/r/${id}`;

async function openEntry(endpoint: string, id: string, options: Parameters<PageTests['open']>[0] = {}): Promise<Page> {
  const page = await tests.open({ ...options, path: entryPath(endpoint, id) });
  await page.getByRole('group', { name: 'Actions' }).waitFor();
  return page;
}

/** All that a tab asks for, and says to the console. */
function watch(page: Page): string[] {
  const watched: string[] = [];
  page.on('request', (request) => watched.push(request.url()));
  page.on('console', (message) => watched.push(message.text()));
  return watched;
}

describePage('who sent a request', () => {
  test.each(PROVIDERS)(
    '25 $name: event, delivery id and signature',
    async ({ name, event, id, secret, body, headers }) => {
      const endpoint = await newEndpoint();
      const all = { 'Content-Type': 'application/json', ...headers(body) };
      const { id: request } = await tests.capture(endpoint, { body, headers: Object.entries(all).flat() });
      const page = await openEntry(endpoint, request);
      const watched = watch(page);
      const line = page.locator('.provider-line');
      await line.getByText(name, { exact: true }).waitFor();
      expect(await line.innerText()).toMatch(/signed/);
      for (const text of [event, id]) expect(await line.getByText(text, { exact: true }).count()).toBe(1);

      await page.getByRole('button', { name: 'Verify' }).click();
      const form = page.getByRole('form', { name: 'Check the signature' });
      expect(await form.getByLabel('Signed by').locator('option:checked').innerText()).toBe(name);
      const field = form.getByLabel('Secret');
      await expect.poll(() => field.evaluate((element) => element === document.activeElement)).toBe(true);
      await page.keyboard.type(name === 'Standard Webhooks' ? 'whsec_d3Jvbmc=' : 'wrong');
      await form.getByRole('button', { name: 'Check' }).click();
      await form.getByText('Not valid').waitFor();
      await form.getByText('does not match').waitFor();
      await form.getByLabel('Secret').fill(secret);
      await page.keyboard.press('Enter');
      await form.getByText('✓ Valid').waitFor();

      expect(await form.getByLabel('Secret').getAttribute('type')).toBe('password');
      const kept = await page.evaluate(() =>
        JSON.stringify([localStorage, sessionStorage, document.cookie, location.href]),
      );
      for (const where of [kept, watched.join('\n'), await page.content()]) expect(where).not.toContain(secret);
    },
  );

  test('25 a body that is not wholly loaded is read for the check, and the secret stays for the next one', async () => {
    const endpoint = await newEndpoint();
    const { headers, secret } = PROVIDERS.at(-1) as Provider;
    const ids: string[] = [];
    for (const text of ['a', 'b']) {
      const body = text.repeat(300_000);
      ids.push((await tests.capture(endpoint, { body, headers: Object.entries(headers(body)).flat() })).id);
      await tests.owner.entry(ids.at(-1) as string);
    }
    const page = await openEntry(endpoint, ids[1] as string);
    await page.getByRole('button', { name: 'Verify' }).click();
    const form = page.getByRole('form', { name: 'Check the signature' });
    await form.getByLabel('Secret').fill(secret);
    await page.keyboard.press('Enter');
    await form.getByText('✓ Valid').waitFor();
    await form.getByText(/Captured \d+ s (after|before) it was signed/).waitFor();

    await page.getByRole('listbox', { name: 'Requests' }).getByRole('option').last().click();
    await form.getByText('✓ Valid').waitFor({ state: 'detached' });
    expect(await form.getByLabel('Secret').evaluate((field) => field === document.activeElement)).toBe(false);
    await form.getByRole('button', { name: 'Check' }).click();
    await form.getByText('✓ Valid').waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Verify' }).click();
    expect(await form.getByLabel('Secret').inputValue()).toBe('');
  });

  test('25 a check says what is wrong with a secret, and shows what was expected', async () => {
    const endpoint = await newEndpoint();
    const body = 'signed';
    const headers = ['X-Hub-Signature-256', `sha256=${hmac(body)}`];
    const { id } = await tests.capture(endpoint, { body, headers });
    const page = await openEntry(endpoint, id);
    await page.getByRole('button', { name: 'Verify' }).click();
    const form = page.getByRole('form', { name: 'Check the signature' });
    await form.getByLabel('Secret').fill(` ${SECRET}`);
    await form.getByRole('button', { name: 'Check' }).click();
    await form.getByText('The secret has white space around it').waitFor();
    await form.getByLabel('Signed by').selectOption('Stripe');
    await form.getByLabel('Secret').fill(SECRET);
    await form.getByRole('button', { name: 'Check' }).click();
    await form.getByText('The entry has no header stripe-signature.').waitFor();

    await form.getByLabel('Signed by').selectOption('GitHub');
    await form.getByLabel('Secret').fill('other');
    await form.getByRole('button', { name: 'Check' }).click();
    const signatures = form.getByRole('definition');
    await expect.poll(() => signatures.allInnerTexts()).toEqual([`sha256=${hmac(body, 'hex', 'other')}`, headers[1]]);
  });

  test('the panel closes with a request that is not signed, and says how long a secret is remembered', async () => {
    const endpoint = await newEndpoint();
    const send = async (body: string, headers: string[]): Promise<string> => {
      const { id } = await tests.capture(endpoint, { body, headers });
      await tests.owner.entry(id);
      return id;
    };
    const plain = await send('plain', []);
    const signed = await send('signed', ['X-GitHub-Event', 'push', 'X-Hub-Signature-256', `sha256=${hmac('signed')}`]);
    const page = await openEntry(endpoint, signed);
    const form = page.getByRole('form', { name: 'Check the signature' });
    await page.getByRole('button', { name: 'Verify' }).click();
    await form.getByText('remembered until you leave or reload this page').waitFor();
    const rows = page.getByRole('listbox', { name: 'Requests' }).getByRole('option');
    await rows.last().click();
    await expect.poll(() => page.url()).toContain(plain);
    await form.waitFor({ state: 'detached' });
    await rows.first().click();
    await form.waitFor();
    await rows.last().click();
    await form.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Verify' }).click();
    await form.waitFor();
  });
});

/*
 * `npm run page:screenshots`: pictures of the page, on real servers and a real browser, for `src/page/README.md`.
 *
 *   npm run page:screenshots -- [folder, src/page/screenshots]
 */
import { createHmac } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { freePort } from '../../src/local/private-server.ts';
import { say, step } from '../../src/local/progress.ts';
import { findOrInstallBrowser } from '../../src/local/programs.ts';
import { captureOne, client, mintToken } from '../support/client.ts';
import { openEnvironment } from '../support/environment.ts';
import { startPrivateServers } from '../support/private-servers.ts';

const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
const SECRET = "It's a Secret to Everybody";

const folder = process.argv[2] ?? 'src/page/screenshots';
mkdirSync(folder, { recursive: true });
const dataDir = mkdtempSync(join(tmpdir(), 'hookbay-pictures-'));
const servers = await startPrivateServers(dataDir);
const environment = await openEnvironment({ mysql: servers.mysql.config, redis: servers.redis.config });
const port = await freePort();
const url = `http://localhost:${port}`;
await environment.startWorker();
await environment.startApi({ PORT: String(port), BASE_URL: url });
const token = mintToken('you');
const owner = client(url, token);
const browser = await chromium.launch({ executablePath: await findOrInstallBrowser(), args: ['--no-sandbox'] });

const { id: empty } = (await owner.create({ alias: 'billing' })).body;
const { id: orders } = (await owner.create({ alias: 'orders', permanent: true })).body;
const sent = await step('Sending deliveries', sendDeliveries);

await picture('list', `#/e/${orders}/r/${sent['push']}`, WIDE, async (page) => {
  await page.getByRole('button', { name: 'Verify' }).click();
  await page.getByLabel('Secret', { exact: true }).fill(SECRET);
  await page.getByRole('button', { name: 'Check', exact: true }).click();
  await page.getByText('Valid').first().waitFor();
});
await picture('compare', `#/e/${orders}/r/${sent['paid']}?with=${sent['created']}`, { ...WIDE, dark: true });
await picture('first-visit', `#/e/${empty}`, WIDE);
await picture('phone', `#/e/${orders}/r/${sent['push']}`, { ...PHONE, dark: true });
await picture('phone-list', `#/e/${orders}`, PHONE);

await browser.close();
await environment.close();
await servers.stop();
rmSync(dataDir, { recursive: true, force: true });

interface Look {
  width: number;
  height: number;
  dark?: boolean;
}

async function picture(name: string, address: string, look: Look, prepare?: (page: Page) => Promise<void>) {
  const { width, height, dark = false } = look;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    hasTouch: width < 700,
    isMobile: width < 700,
    deviceScaleFactor: width < 700 ? 2 : 1,
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  await page.goto(`${url}/#token=${token}`);
  await page.waitForURL((now) => !now.hash.includes('token='));
  await page.goto(`${url}/${address}`);
  await page.locator('.status[data-state=live]').waitFor();
  await prepare?.(page);
  await page.waitForLoadState('networkidle');
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path });
  say(path);
  await context.close();
}

async function sendDeliveries(): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  const deliver = async (name: string, path: string, body: unknown, headers: Record<string, string>) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const { id } = await captureOne(url, `orders${path}`, {
      headers: ['Content-Type', 'application/json', ...Object.entries(headers).flat()],
      body: text,
    });
    ids[name] = id;
  };
  const push = {
    ref: 'refs/heads/main',
    before: '6113728f27ae82c7b1a177c8d03f9e96e0adf246',
    after: '59b20b8d5c6ff8d09518216e87bc4f3a5d8b1c2e',
    repository: { id: 1296269, full_name: 'octocat/hello-world', private: false },
    pusher: { name: 'octocat', email: 'octocat@github.com' },
    commits: [{ id: '59b20b8d5c6ff8d09518216e87bc4f3a5d8b1c2e', message: 'Fix the total of orders', added: [] }],
  };
  const signature = createHmac('sha256', SECRET).update(JSON.stringify(push)).digest('hex');
  const github = {
    'User-Agent': 'GitHub-Hookshot/044aadd',
    'X-GitHub-Delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    'X-GitHub-Event': 'push',
    'X-Hub-Signature-256': `sha256=${signature}`,
  };
  const stripe = (type: string, amount: number, status: string) => ({
    id: `evt_1Qx${type.length}${amount}`,
    object: 'event',
    created: 1795305688,
    type,
    data: { object: { id: 'pi_3Qx7', amount, currency: 'eur', status, customer: 'cus_R8d2' } },
  });
  const stripeHeaders = { 'User-Agent': 'Stripe/1.0', 'Stripe-Signature': `t=1795305688,v1=${signature}` };
  const slack = { 'X-Slack-Signature': `v0=${signature}`, 'X-Slack-Request-Timestamp': '1795305688' };
  const shopify = {
    'X-Shopify-Topic': 'orders/create',
    'X-Shopify-Webhook-Id': 'b54557e4',
    'X-Shopify-Shop-Domain': 'tea.example',
  };
  for (let round = 0; round < 6; round += 1) {
    await deliver('order', '/shop', { id: 820982911946154508n.toString(), total_price: `${20 + round}.50` }, shopify);
    await deliver('xml', '/legacy', '<order number="7"><total>20.50</total></order>', { 'Content-Type': 'text/xml' });
    await deliver('form', '/legacy/form', `payload=order+${round}&total=20.50`, {
      'Content-Type': 'application/x-www-form-urlencoded',
    });
    await deliver(
      'slack',
      '/chat',
      { type: 'event_callback', event_id: 'Ev08', event: { type: 'app_mention', text: 'hi' } },
      slack,
    );
    await deliver(
      'created',
      '/billing',
      stripe('payment_intent.created', 2050, 'requires_payment_method'),
      stripeHeaders,
    );
    await deliver('paid', '/billing', stripe('payment_intent.succeeded', 2050, 'succeeded'), stripeHeaders);
    await deliver('push', '/ci', push, github);
  }
  return ids;
}

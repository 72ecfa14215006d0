import { createHmac } from 'node:crypto';
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { shareEndpoint } from '../support/shares.ts';
import { axeFaults, shoot, sidewaysFaults, smallTargets } from './support/looks.ts';
import { describePage, PHONE, usePage, type PageTests } from './support/page.ts';

let tests: PageTests;
usePage((opened) => {
  tests = opened;
});

let endpoint: string;
let empty: string;

const SECRET = 'It’s a secret';
const PUSH = JSON.stringify({ ref: 'refs/heads/main', id: 1, commits: [{ message: 'Fix the till', added: ['a.ts'] }] });

/** Requests of several kinds, so that the list and the detail show what they can. */
beforeAll(async () => {
  endpoint = (await tests.owner.create({ alias: 'orders' })).body.id;
  empty = (await tests.owner.create()).body.id;
  const signature = `sha256=${createHmac('sha256', SECRET).update(PUSH).digest('hex')}`;
  const json = ['Content-Type', 'application/json'];
  const send = (path: string, headers: string[], body: string | Buffer): Promise<unknown> =>
    tests.capture(`${endpoint}${path}`, { method: 'POST', headers, body });
  await send('/form', ['Content-Type', 'application/x-www-form-urlencoded'], 'a=1&b=two+words&c=%C3%A9');
  await send(
    '/bytes?x=1&x=2',
    ['Content-Type', 'application/octet-stream'],
    Buffer.from([0, 1, 2, 250, 251, 252, 13, 10]),
  );
  await send(`/long/${'path/'.repeat(40)}`, ['Content-Type', 'text/plain'], 'word '.repeat(400));
  for (const delivery of ['one', 'two'])
    await send(
      '/github',
      [...json, 'X-GitHub-Event', 'push', 'X-GitHub-Delivery', delivery, 'X-Hub-Signature-256', signature],
      PUSH,
    );
});

type Visit = (page: Page) => Promise<void>;

const openEntry: Visit = async (page) => {
  await page.getByRole('option').first().click();
  await page.getByRole('tab', { name: 'Body' }).waitFor();
};

/** Opens something by the menu of the header, with the list in view. */
const menuItem =
  (name: string): Visit =>
  async (page) => {
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('menuitem', { name }).click();
    await page.getByRole('dialog').waitFor();
  };

/** Opens something by the actions of the newest entry. */
const entryAction =
  (name: string): Visit =>
  async (page) => {
    await openEntry(page);
    const more = page.getByText('More', { exact: true });
    const action = page.getByRole('group', { name: 'Actions' }).getByRole('button', { name, exact: true });
    if (!(await action.isVisible())) await more.click();
    await action.click();
  };

const tab =
  (name: string): Visit =>
  async (page) => {
    await openEntry(page);
    await page.getByRole('tab', { name: new RegExp(`^${name}`) }).click();
  };

const path = (id = endpoint): string => `/#/e/${id}`;

/** Each screen with how to get there from a fresh page. */
const SCREENS: Record<string, { path: () => string; visit?: Visit }> = {
  start: { path: () => '/#/', visit: (page) => page.getByText('orders').first().waitFor() },
  empty: {
    path: () => path(empty),
    visit: (page) => page.getByText('Waiting for the first request').first().waitFor(),
  },
  list: { path },
  filtered: { path: () => `${path()}?q=nothing+has+this&method=POST&header=x-a:b` },
  body: { path, visit: openEntry },
  headers: { path, visit: tab('Headers') },
  query: { path, visit: tab('Query') },
  raw: { path, visit: tab('Raw') },
  verify: { path, visit: entryAction('Verify') },
  compare: {
    path,
    async visit(page) {
      await entryAction('Compare')(page);
      await page.getByRole('heading', { name: 'Headers' }).waitFor();
    },
  },
  'compare-with': { path, visit: entryAction('Compare with …') },
  selection: {
    path,
    async visit(page) {
      await page
        .getByRole('option')
        .first()
        .click({ modifiers: ['ControlOrMeta'] });
      await page.getByRole('group', { name: 'Selected requests' }).waitFor();
    },
  },
  help: { path, visit: menuItem('Keyboard help') },
  create: { path, visit: menuItem('New endpoint') },
  response: { path, visit: menuItem('Custom response') },
  shares: { path, visit: menuItem('Share links') },
  export: { path, visit: menuItem('Export') },
  'delete-endpoint': { path, visit: menuItem('Delete endpoint') },
  'delete-entries': { path, visit: entryAction('Delete') },
  switcher: {
    path,
    visit: (page) =>
      page
        .getByRole('banner')
        .getByRole('button', { name: /orders/ })
        .first()
        .click(),
  },
  menu: { path, visit: (page) => page.getByRole('button', { name: 'Menu' }).click() },
};

const WIDE = { width: 1440, height: 900 };

interface Look {
  name: string;
  viewport: { width: number; height: number };
  colorScheme: 'light' | 'dark';
  hasTouch: boolean;
}

const LOOKS: Look[] = [
  { name: 'wide-light', viewport: WIDE, colorScheme: 'light', hasTouch: false },
  { name: 'wide-dark', viewport: WIDE, colorScheme: 'dark', hasTouch: false },
  { name: 'phone-light', viewport: PHONE, colorScheme: 'light', hasTouch: true },
  { name: 'phone-dark', viewport: PHONE, colorScheme: 'dark', hasTouch: true },
];

/** Goes to each screen, with a page that begins anew, and collects what `look` finds there. */
async function visitAll(page: Page, look: (screen: string) => Promise<string[]>): Promise<string[]> {
  const found: string[] = [];
  for (const [name, { path: address, visit }] of Object.entries(SCREENS)) {
    await page.goto(`${tests.url}/openapi.json`);
    await page.goto(`${tests.url}${address()}`);
    if (visit === undefined) await page.getByRole('searchbox').first().waitFor();
    else await visit(page);
    await page.getByText('Loading …').waitFor({ state: 'hidden' });
    found.push(...(await look(name)));
  }
  return found;
}

/** Each goes to twenty screens, which takes minutes where the machine is busy. */
const TOUR_MS = 600_000;

describePage('looks', () => {
  test.each(LOOKS)(
    '38 39 $name: axe finds nothing, and nothing is too wide or too small',
    async ({ name, ...options }) => {
      const page = await tests.open(options);
      const look = async (at: Page, screen: string): Promise<string[]> => {
        await shoot(at, `${screen}-${name}`);
        const faults = [
          ...(await axeFaults(at)),
          ...(await sidewaysFaults(at)),
          ...(options.hasTouch ? await smallTargets(at) : []),
        ];
        return faults.map((fault) => `${screen}: ${fault}`);
      };
      const found = await visitAll(page, (screen) => look(page, screen));
      const out = await tests.open({ ...options, token: null });
      await out.getByRole('textbox', { name: 'Token' }).waitFor();
      found.push(...(await look(out, 'sign-in')));
      await out.goto((await shareEndpoint(tests.owner, endpoint)).body.url);
      await openEntry(out);
      found.push(...(await look(out, 'shared')));
      expect(found).toEqual([]);
    },
    TOUR_MS,
  );

  test(
    '39 at 320 px, which is also a 640 px window at 200 %, nothing is cut off sideways',
    async () => {
      const page = await tests.open({ viewport: { width: 320, height: 640 } });
      expect(await visitAll(page, () => sidewaysFaults(page))).toEqual([]);
    },
    TOUR_MS,
  );
});

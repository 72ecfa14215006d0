import { expect, test } from 'vitest';
import { idToBytes, newTimeOrderedId } from '../../src/domain/ids.ts';
import { inTransaction } from '../../src/store/database.ts';
import { insertRequests } from '../../src/store/capture-batches.ts';
import { makeCapture } from '../support/captures.ts';
import { closing } from '../support/environment.ts';
import { describePage, usePage, type PageTests } from './support/page.ts';

const CAPTURES = 43_000;
const ROWS_AT_ONCE = 2_000;
const MAX_HEAP_BYTES = 150 * 1024 * 1024;

const BODY = Buffer.from(JSON.stringify({ action: 'opened', number: 7, note: 'x'.repeat(900) }));
const HEADERS = Object.entries({
  Host: 'hooks.example.com',
  Accept: '*/*',
  'Content-Type': 'application/json',
  'User-Agent': 'GitHub-Hookshot/044aadd',
  'X-GitHub-Delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  'X-GitHub-Event': 'issues',
  'X-GitHub-Hook-ID': '292430182',
  'X-GitHub-Hook-Installation-Target-ID': '79929171',
  'X-GitHub-Hook-Installation-Target-Type': 'repository',
  'X-Hub-Signature-256': 'sha256=d57c68ca6f92289e6987922ff26938930f6e66a2d161ef06abdf1859230aa23c',
}).flat();

let tests: PageTests;
usePage((opened) => {
  tests = opened;
});

/** What a day brings, without sending it: entries with the `seq` from `first`. */
async function storeEntries(endpointId: string, first: number, count: number): Promise<void> {
  const { db } = tests.environment;
  for (let seq = first; seq < first + count;) {
    const captures = Array.from({ length: Math.min(ROWS_AT_ONCE, first + count - seq) }, () => ({
      ...makeCapture(endpointId, { id: newTimeOrderedId(), rawHeaders: HEADERS, body: BODY }),
      seq: seq++,
    }));
    await inTransaction(db.pool, (connection) => insertRequests(connection, captures));
  }
  const counts = { request_count: first + count - 1, stored_count: first + count - 1 };
  await db
    .knex('endpoints')
    .where({ id: idToBytes(endpointId) })
    .update(counts);
}

describePage('a page that stays open', () => {
  test(`42 after ${CAPTURES} captures its heap is under 150 MB, and the list still answers`, async () => {
    const { id } = (await tests.owner.create()).body;
    await tests.capture(id);
    const page = await tests.open({ path: `/#/e/${id}` });
    const state = page.locator('.status');
    await expect.poll(() => state.getAttribute('data-state')).toBe('live');
    await storeEntries(id, 2, CAPTURES);
    // Its event tells the page how much it has missed.
    const { id: last } = await tests.capture(id);
    await expect.poll(() => state.getAttribute('data-state')).toBe('catching-up');
    await expect.poll(() => state.getAttribute('data-state'), { timeout: 200_000 }).toBe('live');
    await page.locator(`#row-${last}`).waitFor();

    const network = closing(await page.context().newCDPSession(page), (session) => session.detach().catch(() => {}));
    await network.send('HeapProfiler.collectGarbage');
    const { usedSize } = await network.send('Runtime.getHeapUsage');
    const times = await page.evaluate(async () => {
      const list = document.querySelector<HTMLElement>('[role=listbox]');
      list?.focus();
      const all: number[] = [];
      for (let i = 0; i < 40; i += 1) {
        const before = document.querySelector('[role=option][aria-selected=true]')?.id;
        const start = performance.now();
        list?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }));
        for (let frame = 0; frame < 300; frame += 1) {
          await new Promise((resolve) => requestAnimationFrame(resolve));
          if (document.querySelector('[role=option][aria-selected=true]')?.id !== before) break;
        }
        all.push(performance.now() - start);
      }
      return all.toSorted((a, b) => a - b);
    });
    process.stdout.write(
      `heap ${(usedSize / 1024 / 1024).toFixed(0)} MiB; key to selected row p50 ${times[20]?.toFixed(0)}, longest ${times.at(-1)?.toFixed(0)} ms\n`,
    );
    expect(usedSize).toBeLessThan(MAX_HEAP_BYTES);
    expect(times[20]).toBeLessThan(100);
  }, 300_000);
});

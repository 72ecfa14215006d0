import type { Locator } from 'playwright-core';
import { idToBytes, newTimeOrderedId } from '../../../src/domain/ids.ts';
import { insertRequests } from '../../../src/store/capture-batches.ts';
import { inTransaction } from '../../../src/store/database.ts';
import { makeCapture } from '../../support/captures.ts';
import type { PageTests } from './page.ts';

const ROWS_AT_ONCE = 5_000;

/** Puts entries into the database, before anything is captured: `/stored/1`, `/stored/2` … */
export async function store({ environment }: PageTests, endpointId: string, count: number): Promise<void> {
  for (let seq = 1; seq <= count;) {
    const captures = Array.from({ length: Math.min(ROWS_AT_ONCE, count - seq + 1) }, () => ({
      ...makeCapture(endpointId, { id: newTimeOrderedId(), target: `/h/${endpointId}/stored/${seq}` }),
      seq: seq++,
    }));
    await inTransaction(environment.db.pool, (connection) => insertRequests(connection, captures));
  }
  await environment.db
    .knex('endpoints')
    .where({ id: idToBytes(endpointId) })
    .update({ request_count: count, stored_count: count });
}

/** The list scrolls in the element around it. */
export function scrollTo(list: Locator, top: number): Promise<void> {
  return list.evaluate((element, px) => element.parentElement?.scrollTo({ top: px }), top);
}

export function scrollTopOf(list: Locator): Promise<number> {
  return list.evaluate((element) => element.parentElement?.scrollTop ?? -1);
}

/** The paths of the rows in the document, from the top. */
export function pathsOf(list: Locator): Promise<string[]> {
  return list.locator('.path').allTextContents();
}

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { filterOf, filterQuery } from '../../src/api/management/filter-query.ts';
import type { DecodedCapture } from '../../src/domain/capture-job.ts';
import { matches, type Filter } from '../../src/domain/filter.ts';
import { bytesToId, idToBytes, newTimeOrderedId } from '../../src/domain/ids.ts';
import { contentCondition, headCondition } from '../../src/store/filter-sql.ts';
import { scanBack, scanForward } from '../../src/store/find.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture } from '../support/captures.ts';
import { client, mintToken, type Client } from '../support/client.ts';
import { useEnvironment, type Environment } from '../support/environment.ts';
import { captureFields, finds, modelCapture, modelQuery } from '../support/filter-model.ts';

let environment: Environment;
let owner: Client;

useEnvironment(async (opened) => {
  environment = opened;
  owner = client((await environment.startApi()).url, mintToken('ann', { plan: 'enterprise' }));
});

const query = z.object(filterQuery);
let number = 0;
const reader = { userId: 'ann', since: null };

/** Stores captures in three transactions, so that ids and commits differ in order; returns them by `seq`. */
async function store(captures: DecodedCapture[]): Promise<DecodedCapture[]> {
  const stored: DecodedCapture[] = [];
  for (let start = 0; start < captures.length; start += Math.ceil(captures.length / 3)) {
    const batch = captures.slice(start, start + Math.ceil(captures.length / 3));
    await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-11-22', captures: batch }]);
    stored.push(...batch.toSorted((a, b) => (a.id < b.id ? -1 : 1)));
  }
  return stored;
}

/** Ids that the conditions in SQL leave. */
async function prefiltered(endpointId: string, filter: Filter): Promise<Set<string>> {
  const [head, content] = [headCondition(filter), contentCondition(filter, true)];
  const [rows] = await environment.db.pool.query(
    `SELECT id FROM requests WHERE endpoint_id = ? AND ${head.sql} AND ${content.sql}`,
    [idToBytes(endpointId), ...head.values, ...content.values],
  );
  return new Set((rows as { id: Buffer }[]).map(({ id }) => bytesToId(id)));
}

/** The ids of all hits by one direction, from scans that stop at each `limit`. */
async function newestFirst(endpointId: string, filter: Filter, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let before: string | undefined; ;) {
    const found = await scanBack(environment.db, reader, endpointId, filter, { before, limit });
    ids.push(...found.entries.map(({ id }) => id));
    if (found.done) return ids;
    before = found.last;
  }
}

async function bySeq(endpointId: string, filter: Filter, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let after = 0; ;) {
    const found = await scanForward(environment.db, reader, endpointId, filter, { after, limit, maxBody: 10 });
    ids.push(...found.requests.map(({ id }) => id));
    if (found.done) return ids;
    after = found.last;
  }
}

test('any filter on any entries: SQL leaves every match, both directions find what a plain model finds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(modelCapture, { minLength: 1, maxLength: 40 }),
      fc.array(modelQuery, { minLength: 12, maxLength: 12 }),
      fc.integer({ min: 1, max: 9 }),
      async (randoms, queries, limit) => {
        const { id } = (await owner.create()).body;
        const captures = await store(
          randoms.map((random) => makeCapture(id, captureFields(random, id, (number += 1)))),
        );
        for (const parameters of queries) {
          const filter = filterOf(query.parse(parameters));
          const wanted = captures.filter((capture) => finds(parameters, capture)).map((capture) => capture.id);
          const exact = captures.filter((capture) =>
            matches(filter, { ...capture, seq: 1, size: capture.body.length }),
          );
          expect([parameters, exact.map((capture) => capture.id)]).toEqual([parameters, wanted]);
          const left = await prefiltered(id, filter);
          expect([parameters, wanted.filter((one) => !left.has(one))]).toEqual([parameters, []]);
          expect(await newestFirst(id, filter, limit)).toEqual(wanted.toSorted().toReversed());
          expect(await bySeq(id, filter, limit)).toEqual(wanted);
        }
      },
    ),
    // The seed is printed; a smaller example is not worth the time on a database.
    { numRuns: 25, endOnFailure: true },
  );
});

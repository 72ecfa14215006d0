import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { filterOf, filterQuery } from '../../src/api/management/filter-query.ts';
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
const reader = { userId: 'ann', since: null };

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

test('any filter on any entries: SQL leaves every match, and both directions find what a plain model finds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(modelCapture, { minLength: 1, maxLength: 40 }),
      fc.array(modelQuery, { minLength: 12, maxLength: 12 }),
      fc.integer({ min: 1, max: 9 }),
      async (randoms, queries, limit) => {
        const { id } = (await owner.create()).body;
        const captures = randoms.map((random, i) => makeCapture(id, captureFields(random, id, i)));
        await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-11-22', captures }]);
        for (const parameters of queries) {
          const filter = filterOf(query.parse(parameters));
          const wanted = captures.filter((capture) => finds(parameters, capture)).map((capture) => capture.id);
          const exact = captures.filter((capture) =>
            matches(filter, { ...capture, seq: 1, size: capture.body.length }),
          );
          expect(exact.map((capture) => capture.id)).toEqual(wanted);
          const left = await prefiltered(id, filter);
          expect(wanted.filter((one) => !left.has(one))).toEqual([]);
          expect(await newestFirst(id, filter, limit)).toEqual(wanted.toSorted().toReversed());
          expect(await bySeq(id, filter, limit)).toEqual(wanted);
        }
      },
    ),
    { numRuns: 25 },
  );
});

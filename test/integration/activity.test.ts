import { beforeEach, describe, expect, test } from 'vitest';
import { v7 as uuidv7 } from 'uuid';
import type { Activity } from '../../src/domain/answers.ts';
import { newTimeOrderedId, timeOfId } from '../../src/domain/ids.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture } from '../support/captures.ts';
import { captureOne, client, mintToken, type Answer, type Client } from '../support/client.ts';
import { useEnvironment, type Environment } from '../support/environment.ts';
import { holderOfEndpoint, holderOfEntry } from '../support/shares.ts';

const MINUTE_MS = 60_000;
const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057';

let environment: Environment;
let url: string;
let owner: Client;
let endpointId: string;
let users = 0;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url } = await environment.startApi());
});
beforeEach(async () => {
  owner = client(url, mintToken(`counter-${(users += 1)}`));
  endpointId = (await owner.create()).body.id;
});

const ask = (query = '', reader = owner, id = endpointId): Promise<Answer<Activity>> =>
  reader.call('GET', `/api/endpoints/${id}/activity${query}`);

/** Stores entries that arrived at these times, in Unix milliseconds; returns their ids, oldest first. */
async function store(times: number[], id = endpointId): Promise<string[]> {
  const ids = times.map((msecs) => uuidv7({ msecs }));
  for (let start = 0; start < ids.length; start += 5_000) {
    const captures = ids.slice(start, start + 5_000).map((entry) => makeCapture(id, { id: entry }));
    await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-03-01', captures }]);
  }
  return ids.toSorted();
}

function sum(counts: number[]): number {
  return counts.reduce((total, n) => total + n, 0);
}

/** What an answer has to say about these times: its minutes are as late as the request was. */
function countsOf(times: number[], { since, until, counts }: Activity): number[] {
  const start = Date.parse(since);
  expect(Date.parse(until)).toBe(start + counts.length * MINUTE_MS);
  return counts.map((_, i) => times.filter((ms) => Math.floor((ms - start) / MINUTE_MS) === i).length);
}

describe('the activity of an endpoint [Activity]', () => {
  test('has one number a minute, oldest first, up to the running minute', async () => {
    const now = Date.now();
    const minute = now - (now % MINUTE_MS);
    const edges = [1, 2, 30].flatMap((n) => [minute - n * MINUTE_MS, minute - n * MINUTE_MS - 1]);
    const times = [now, now, minute, ...edges, now - 40 * MINUTE_MS, now - 70 * MINUTE_MS];
    await store(times);
    await store([now], (await owner.create()).body.id);
    for (const [query, minutes] of [
      ['', 60],
      ['?minutes=1', 1],
      ['?minutes=1440&x=1', 1_440],
    ] as const) {
      const { status, body } = await ask(query);
      expect([status, body.counts.length, Object.keys(body)]).toEqual([200, minutes, ['since', 'until', 'counts']]);
      expect(body.counts).toEqual(countsOf(times, body));
      expect(Date.parse(body.until) % MINUTE_MS).toBe(0);
      expect(Math.abs(Date.parse(body.until) - Date.now())).toBeLessThan(2 * MINUTE_MS);
    }
    expect(sum((await ask('?minutes=1440')).body.counts)).toBe(times.length);
  });

  test.each(['0', '1441', '999999999999999', '-1', '1.5', '1e1', '', 'x', '1&minutes=2'])(
    'minutes=%s is 400 that names it',
    async (minutes) => {
      const { status, body } = await ask(`?minutes=${minutes}`);
      expect([status, body]).toEqual([400, { error: expect.stringMatching(/^minutes: /) }]);
    },
  );

  test('counts every acknowledged capture', async () => {
    for (let n = 1; n <= 20; n += 1) {
      await captureOne(url, endpointId);
      expect(sum((await ask('?minutes=1440')).body.counts)).toBe(n);
    }
  });

  test('is 404, the same for all, for endpoints of others', async () => {
    await store([Date.now()]);
    const stranger = client(url, mintToken('stranger'));
    const answers = [await ask('', stranger), await ask('', owner, UNKNOWN), await ask('', owner, "x'")];
    expect(answers.map(({ status, bytes }) => `${status} ${bytes.toString()}`)).toEqual(
      Array(3).fill('404 {"error":"Not found"}'),
    );
  });

  test('counts the newest 100,000 entries, and says from when on that is all', async () => {
    const now = Date.now();
    const ids = await store(Array.from({ length: 100_000 }, (_, i) => now - i * 17));
    const whole = (await ask('?minutes=120')).body;
    expect([sum(whole.counts), Object.keys(whole)]).toEqual([100_000, ['since', 'until', 'counts']]);
    await store([1, 2, 3].map((n) => now + n));
    const cut = (await ask('?minutes=120')).body;
    expect(sum(cut.counts)).toBe(100_000);
    expect(Date.parse(cut.counted_from ?? '')).toBe(timeOfId(ids[2] ?? '') + 1);
    const counted = ids.slice(3).map(timeOfId);
    expect(cut.counts).toEqual(countsOf([...counted, now + 1, now + 2, now + 3], cut));
  }, 120_000);
});

describe('the activity through a share link [Activity]', () => {
  test('is that of an endpoint as far as the link goes', async () => {
    const now = Date.now();
    await store([now - 90_000, now - 1_000]);
    const [all, past] = [
      await holderOfEndpoint(url, owner, endpointId, { redact: false }),
      await holderOfEndpoint(url, owner, endpointId, { until: 'now' }),
    ];
    await captureOne(url, endpointId);
    const counted = async (reader: Client): Promise<number> => sum((await ask('?minutes=1440', reader)).body.counts);
    expect([await counted(owner), await counted(all), await counted(past)]).toEqual([3, 3, 2]);
  });

  test('is refused for other endpoints, and for a link to one entry', async () => {
    const [entry = ''] = await store([Date.now()]);
    const other = (await owner.create()).body.id;
    const holder = await holderOfEndpoint(url, owner, endpointId);
    const holderOfOne = await holderOfEntry(url, owner, entry);
    const statuses = [await ask('', holder, other), await ask('', holderOfOne), await ask('?x=1', holder)];
    expect(statuses.map(({ status }) => status)).toEqual([404, 403, 403]);
  });
});

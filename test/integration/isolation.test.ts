import { expect, test } from 'vitest';
import { captureOne, client, mintToken, type Client } from '../support/client.ts';
import { useEnvironment, type Environment } from '../support/environment.ts';

let environment: Environment;
let url: string;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  ({ url } = await environment.startApi());
});

/** User ids that a text collation would treat as equal. */
const PAIRS = [
  ['ann', 'bob'],
  ['ann', 'ann '],
  ['ann', 'Ann'],
  ['cafe', 'café'],
  ['a', 'a\0'],
  ['é', 'e\u0301'],
] as const;

test.each(PAIRS)(
  "%j has no access to anything of %j [Unknown, malformed or another owner's id on any management route]",
  async (ownerId, strangerId) => {
    const owner = client(url, mintToken(ownerId));
    const stranger = client(url, mintToken(strangerId));
    const { id } = (await owner.create()).body;
    const receipt = await captureOne(url, id, { body: 'secret' });
    const mine = (await stranger.create()).body.id;
    const own = await captureOne(url, mine);
    expect((await owner.entry(receipt.id)).status).toBe(200);

    const unknown = '01890a5d-ac96-774b-bcce-b302099a8057';
    const attempts: ((user: Client, endpoint: string, entry: string) => Promise<{ status: number; bytes: Buffer }>)[] =
      [
        (user, endpoint) => user.endpoint(endpoint),
        (user, endpoint) => user.removeEndpoint(endpoint),
        (user, endpoint) => user.list(endpoint),
        (user, endpoint) => user.call('GET', `/api/endpoints/${endpoint}/requests/next?timeout=0`),
        (user, endpoint) => user.call('GET', `/api/endpoints/${endpoint}/events?after=0`),
        (user, _endpoint, entry) => user.entry(entry),
        (user, _endpoint, entry) => user.body(entry),
        (user, _endpoint, entry) => user.remove(entry),
      ];
    for (const attempt of attempts) {
      const foreign = await attempt(stranger, id, receipt.id);
      const missing = await attempt(stranger, unknown, unknown);
      expect(foreign.status).toBe(404);
      expect(foreign.bytes).toEqual(missing.bytes);
    }
    expect((await stranger.removeMany([receipt.id, own.id])).body.deleted).toBe(1);
    expect((await stranger.endpoints()).body.endpoints.map((endpoint) => endpoint.id)).not.toContain(id);

    // Nothing was taken from the owner.
    expect((await owner.entry(receipt.id)).body.body).toBe('secret');
    expect((await owner.list(id)).body.total).toBe(1);
    expect((await owner.endpoints()).body.usage.dailyRequests).toBeGreaterThanOrEqual(1);
  },
);

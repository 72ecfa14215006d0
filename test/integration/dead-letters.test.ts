import { spawn } from 'node:child_process';
import type { RowDataPacket } from 'mysql2/promise';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { deadLetters } from '../../src/commands/dead-letters.ts';
import { replayDeadLetter } from '../../src/commands/replay.ts';
import { bytesToId, idToBytes, newEndpointId, newTimeOrderedId, timeOfId } from '../../src/domain/ids.ts';
import { createLog } from '../../src/log.ts';
import { countDeadLetters, insertDeadLetters } from '../../src/store/dead-letters.ts';
import { inTransaction } from '../../src/store/database.ts';
import { removeEndpoint } from '../../src/store/endpoints.ts';
import { findUsage } from '../../src/store/usage.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture, storeEndpoint } from '../support/captures.ts';
import { eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { endProcess } from '../support/processes.ts';

const DAY = '2026-03-01';
const CANARY = 'poison-canary';

let environment: Environment;
let endpointId: string;

useEnvironment((opened) => {
  environment = opened;
});
beforeEach(async () => {
  endpointId = await storeEndpoint(environment.db.knex);
});
afterEach(async () => {
  await environment.db.knex.raw('DROP TRIGGER IF EXISTS poison');
  await environment.db.knex('dead_letters').delete();
});

async function poison(): Promise<void> {
  await environment.db.knex.raw(`CREATE TRIGGER poison BEFORE INSERT ON requests FOR EACH ROW
    IF NEW.body LIKE '%poison%' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'poison'; END IF`);
}

/** Captures that the worker could not store, among others that it stored. Returns the ids of the former. */
async function refuse(count: number): Promise<string[]> {
  await poison();
  const bad = Array.from({ length: count }, () =>
    makeCapture(endpointId, { body: Buffer.from(`${CANARY}\xff`, 'latin1'), isUtf8: false }),
  );
  await persistBatches(environment.db.pool, [
    { id: newTimeOrderedId(), day: DAY, captures: [makeCapture(endpointId), ...bad, makeCapture(endpointId)] },
  ]);
  await environment.db.knex.raw('DROP TRIGGER poison');
  return bad.map(({ id }) => id);
}

/** Runs the command as `main.ts` does, and returns its output. */
async function run(...args: string[]): Promise<{ code: number; out: string[]; said: string[] }> {
  const [out, said]: [string[], string[]] = [[], []];
  const code = await deadLetters(args, {
    openDb: async () => environment.db,
    log: createLog('silent'),
    print: (line) => void out.push(line),
    say: (line) => void said.push(line),
  });
  return { code, out, said };
}

async function state() {
  const rows = await environment.db
    .knex('requests')
    .where({ endpoint_id: idToBytes(endpointId) })
    .orderBy('seq')
    .select('id', 'seq', 'body');
  const counters = await environment.db
    .knex('endpoints')
    .where({ id: idToBytes(endpointId) })
    .first('request_count', 'stored_count');
  return {
    ids: rows.map(({ id }) => bytesToId(id as Buffer)),
    seqs: rows.map(({ seq }) => seq as number),
    bodies: rows.map(({ body }) => body as Buffer),
    counters,
  };
}

const left = (): Promise<number> => countDeadLetters(environment.db.knex);
const used = (): Promise<number> => findUsage(environment.db.knex, 'ann', DAY);
const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

describe('list', () => {
  test('shows what an operator needs, of all endpoints or one, and no captured data', async () => {
    const ids = await refuse(3);
    const all = await run('list');
    expect(all.code).toBe(0);
    expect(all.out).toHaveLength(4);
    expect(all.out[1]).toMatch(
      new RegExp(`^${ids[0]}  ${endpointId}  \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z  \\d+ +ER_SIGNAL_EXCEPTION  "ann"$`),
    );
    const two = await run('list', '--json', '--limit', '2', '--endpoint', endpointId);
    expect(two.out.map((line) => JSON.parse(line) as object)).toEqual(
      ids.slice(0, 2).map((id) => ({
        id,
        endpoint_id: endpointId,
        user_id: 'ann',
        error_code: 'ER_SIGNAL_EXCEPTION',
        refused_at: expect.any(String),
        bytes: expect.any(Number),
      })),
    );
    expect(two.said).toEqual(['These are 2 of 3; --limit shows more.']);
    expect((await run('list', '--endpoint', newEndpointId())).said).toEqual(['There are no dead letters.']);
    const written = JSON.stringify([all, two]);
    for (const secret of [CANARY, Buffer.from(CANARY).toString('base64').slice(0, 12)])
      expect(written).not.toContain(secret);
  });

  test('a user id with control characters is quoted', async () => {
    await inTransaction(environment.db.pool, (connection) =>
      insertDeadLetters(
        connection,
        [
          {
            capture: makeCapture(endpointId, { userId: '\u001b[2Jeve' }),
            batchId: newTimeOrderedId(),
            errorCode: 'ER_X',
          },
        ],
        new Date(),
      ),
    );
    expect((await run('list')).out.join()).not.toContain('\u001b');
  });
});

describe('replay', () => {
  test('stores complete captures, under their ids, at the end of the sequence, and does not count them for a day again', async () => {
    const ids = await refuse(3);
    const before = await used();
    const { code, said } = await run('replay', ids[0] ?? '', (ids[1] ?? '').toUpperCase());
    expect([code, said]).toEqual([
      0,
      ['2 stored, 0 refused again, 0 dropped because their endpoint is gone, 0 stored before, 0 not there (any more).'],
    ]);
    const after = await state();
    expect(after).toMatchObject({ seqs: numbers(4), counters: { request_count: 4, stored_count: 4 } });
    expect(after.ids.slice(2)).toEqual(ids.slice(0, 2));
    expect(after.bodies[2]).toEqual(Buffer.from(`${CANARY}\xff`, 'latin1'));
    expect(await left()).toBe(1);
    expect(await used()).toBe(before);
    // A second run finds nothing to do.
    expect((await run('replay', ...ids.slice(0, 2))).said[0]).toMatch(/^0 stored.* 2 not there/);
    expect(await state()).toEqual(after);
  });

  test('a capture that is refused again stays, with the new reason, and does not block the others', async () => {
    const ids = await refuse(2);
    await inTransaction(environment.db.pool, (connection) =>
      insertDeadLetters(
        connection,
        [
          {
            capture: makeCapture(endpointId, { body: Buffer.from('harmless') }),
            batchId: newTimeOrderedId(),
            errorCode: 'ER_OLD',
          },
        ],
        new Date(),
      ),
    );
    await environment.db.knex('dead_letters').whereIn('id', ids.map(idToBytes)).update({ error_code: 'ER_OLD' });
    await poison();
    const { code, said } = await run('replay', '--all');
    expect([code, said[0]]).toEqual([1, expect.stringMatching(/^1 stored, 2 refused again/)]);
    expect(
      (await run('list', '--json')).out.map((line) => (JSON.parse(line) as { error_code: string }).error_code),
    ).toEqual(['ER_SIGNAL_EXCEPTION', 'ER_SIGNAL_EXCEPTION']);
    expect(await state()).toMatchObject({ seqs: numbers(3), counters: { request_count: 3, stored_count: 3 } });
  });

  test('captures of a deleted endpoint are dropped, and a capture that is already an entry is not stored twice', async () => {
    const ids = await refuse(2);
    await run('replay', ids[0] ?? '');
    const [row] = await environment.db.knex('requests').where({ id: idToBytes(ids[0] ?? '') });
    // As after restoring a backup of the dead letters alone.
    const capture = makeCapture(endpointId, { id: ids[0] ?? '', body: row?.body as Buffer });
    await inTransaction(environment.db.pool, (connection) =>
      insertDeadLetters(connection, [{ capture, batchId: newTimeOrderedId(), errorCode: 'ER_X' }], new Date()),
    );
    expect(await replayDeadLetter(environment.db, ids[0] ?? '')).toBe('stored before');
    expect(await state()).toMatchObject({ seqs: numbers(3), counters: { request_count: 3 } });
    await removeEndpoint(environment.db.knex, 'ann', endpointId, new Date());
    expect((await run('replay', '--all')).said[0]).toMatch(/^0 stored, 0 refused again, 1 dropped/);
    expect(await left()).toBe(0);
  });

  test('the last capture of the endpoint stays the last, and a newer one replaces it', async () => {
    const [id = ''] = await refuse(1);
    const newer = makeCapture(endpointId);
    await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: DAY, captures: [newer] }]);
    await run('replay', id);
    const row = await environment.db
      .knex('endpoints')
      .where({ id: idToBytes(endpointId) })
      .first('last_request_at');
    expect(row).toEqual({ last_request_at: new Date(timeOfId(newer.id)) });
  });

  test('several at once, during captures: each is stored once, without a gap', async () => {
    const ids = await refuse(200);
    const before = await used();
    const replays = Promise.all(Array.from({ length: 4 }, () => run('replay', '--all')));
    const captures = Promise.all(
      numbers(20).map(() =>
        persistBatches(environment.db.pool, [
          { id: newTimeOrderedId(), day: DAY, captures: [makeCapture(endpointId)] },
        ]),
      ),
    );
    const results = await replays;
    await captures;
    expect(results.reduce((sum, { said }) => sum + Number(/^\d+/.exec(said[0] ?? '')?.[0]), 0)).toBe(200);
    // Each locked its letter before reading it; an earlier read could restore what was deleted since.
    expect(results.map(({ said }) => said[0])).toEqual(results.map(() => expect.stringMatching(/ 0 stored before,/)));
    const after = await state();
    expect(after).toMatchObject({ seqs: numbers(222), counters: { request_count: 222, stored_count: 222 } });
    expect(after.ids.filter((id) => ids.includes(id))).toHaveLength(200);
    expect([await left(), await used()]).toEqual([0, before + 20]);
  });

  test('killed between the row and the commit: nothing is lost or duplicated', async () => {
    const ids = await refuse(50);
    const before = await used();
    // The transaction waits after the insert of the 20th row of the endpoint, for a lock that this test holds.
    const name = `hold-${endpointId}`;
    await environment.db.knex.raw(
      `CREATE TRIGGER hold AFTER INSERT ON requests FOR EACH ROW IF NEW.seq = 20 THEN SET @held = GET_LOCK('${name}', 60); END IF`,
    );
    const holder = await environment.db.pool.getConnection();
    await holder.query('SELECT GET_LOCK(?, 0)', [name]);
    const waiting = async (): Promise<boolean> => {
      const [rows] = await environment.db.pool.query<RowDataPacket[]>(
        "SELECT id FROM information_schema.processlist WHERE state = 'User lock' AND db = DATABASE()",
      );
      return rows.length === 1;
    };
    const child = spawn(process.execPath, ['src/main.ts', 'dead-letters', 'replay', '--all'], {
      env: { ...process.env, ...environment.env },
      stdio: 'ignore',
    });
    await eventually(waiting);
    expect(await endProcess(child, 'SIGKILL')).toBe('SIGKILL');
    await holder.query('SELECT RELEASE_LOCK(?)', [name]);
    holder.release();
    // The server detects the closed connection, and rolls back.
    await eventually(async () => !(await waiting()));
    const results = await Promise.all([run('replay', '--all'), run('replay', '--all')]);
    await environment.db.knex.raw('DROP TRIGGER hold');
    expect(results.map(({ code }) => code)).toEqual([0, 0]);
    const after = await state();
    expect(after).toMatchObject({ seqs: numbers(52), counters: { request_count: 52, stored_count: 52 } });
    expect(after.ids.slice(2).toSorted()).toEqual(ids.toSorted());
    expect([await left(), await used()]).toEqual([0, before]);
  });
});

test('discard removes the named ones, or with --yes all, and stores nothing', async () => {
  const ids = await refuse(3);
  expect((await run('discard', ids[1] ?? '', newTimeOrderedId())).said).toEqual(['1 discarded.']);
  expect(await left()).toBe(2);
  await expect(run('discard', '--all')).rejects.toThrow('say --yes');
  expect(await left()).toBe(2);
  expect((await run('discard', '--all', '--yes')).said).toEqual(['2 discarded.']);
  expect(await left()).toBe(0);
  expect((await state()).seqs).toEqual([1, 2]);
});

test.each<[string[], RegExp]>([
  [[], /^usage: dead-letters/],
  [['lost'], /^usage/],
  [['toString'], /^usage/],
  [['replay'], /needs ids, or --all/],
  [['replay', '--all', newEndpointId()], /needs ids, or --all/],
  [['replay', '--yes', '--all'], /--yes/],
  [['discard'], /needs ids, or --all/],
  [['replay', "1' OR '1'='1"], /is not an id/],
  [['list', '--limit', '0'], /--limit must be/],
  [['list', '--limit', '1e3'], /--limit must be/],
  [['list', '--endpoint', 'x'], /is not an id/],
  [['list', newEndpointId()], /./],
])('refuses the arguments %j, before it queries the database', async (args, message) => {
  const context = {
    openDb: () => expect.fail('queried the database'),
    log: createLog('silent'),
    print: () => {},
    say: () => {},
  };
  await expect(deadLetters(args, context)).rejects.toThrow(message);
});

test('as a process: result on standard output, the ids of replays and discards in the log, help without settings', async () => {
  const [first = '', second = ''] = await refuse(2);
  const listed = await runProcess('list', '--json');
  expect(listed.code).toBe(0);
  expect(
    listed.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: string }).id),
  ).toEqual([first, second]);
  const replayed = await runProcess('replay', first);
  expect(JSON.parse(replayed.stdout)).toMatchObject({
    role: 'dead-letters',
    msg: 'Dead letters replayed',
    outcomes: { stored: [first] },
  });
  expect([replayed.code, replayed.stderr]).toEqual([0, expect.stringMatching(/^1 stored/)]);
  const discarded = await runProcess('discard', second);
  expect(JSON.parse(discarded.stdout)).toMatchObject({ msg: 'Dead letters discarded', count: 1, ids: [second] });
  expect(JSON.stringify([listed, replayed, discarded])).not.toContain(CANARY);
  expect((await runProcess('--help')).stdout).toMatch(/^usage: dead-letters/);
  const wrong = await runProcess('discard', '--all');
  expect([wrong.code, wrong.stderr]).toEqual([
    1,
    'discard --all deletes every dead letter for good; say --yes as well\n',
  ]);
});

async function runProcess(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, ['src/main.ts', 'dead-letters', ...args], {
    env: { ...process.env, ...environment.env, LOG_LEVEL: 'info' },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, stdout, stderr };
}

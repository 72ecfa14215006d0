import { send, type Answer } from '../../support/client.ts';
import { BODY_BYTES, RAW_HEADERS } from './rows.ts';
import type { Installation } from './installation.ts';

/** Bounds the entries of one delete: 20 that came one after another. */
const DELETED_AT_ONCE = 20;

/** What is timed. `units` is what a cost is for, where that is not one request. */
export interface Operation {
  name: string;
  /** Requests of a round, one after another. */
  times: number;
  run: (installation: Installation, turn: number) => Promise<number>;
}

/** Of the entries that retention leaves alone, from the oldest (0) to the newest (1). */
function entryAt({ rows: { count, due } }: Installation, share: number): number {
  return Math.floor(due + (count - due) * share);
}

/** An entry between two shares. Rounds spread over them, and over the endpoints. */
function nthOf(on: Installation, from: number, to: number, turn: number): number {
  return entryAt(on, from + (to - from) * ((turn * 0.618_033_988_75) % 1));
}

function endpointOf({ rows: { endpoints } }: Installation, n: number): string {
  return endpoints[n % endpoints.length] as string;
}

async function ok(answer: Promise<Answer>): Promise<1> {
  const { status, bytes } = await answer;
  if (status !== 200) throw new Error(`${status} ${bytes.toString().slice(0, 200)}`);
  return 1;
}

const BODY = JSON.stringify({ text: 'x'.repeat(BODY_BYTES - 11) });
const CAPTURE_HEADERS = RAW_HEADERS.slice(2);

export const CAPTURE: Operation = {
  name: 'capture',
  times: 200,
  run: (installation, turn) =>
    ok(
      send(`${installation.url}/h/${endpointOf(installation, nthOf(installation, 0, 1, turn))}`, {
        method: 'POST',
        headers: CAPTURE_HEADERS,
        body: BODY,
      }),
    ),
};

export const OPERATIONS: Operation[] = [
  CAPTURE,
  {
    name: 'list, newest page',
    times: 40,
    run: (on, turn) => ok(on.owner.list(endpointOf(on, nthOf(on, 0, 1, turn)), `?limit=${on.page}`)),
  },
  {
    name: 'list, page before one deep inside',
    times: 40,
    run(on, turn) {
      const n = nthOf(on, 0.6, 0.9, turn);
      return ok(on.owner.list(endpointOf(on, n), `?limit=${on.page}&before=${on.rows.idOf(n)}`));
    },
  },
  {
    name: 'list by method, newest page',
    times: 10,
    run: (on, turn) => ok(on.owner.list(endpointOf(on, nthOf(on, 0, 1, turn)), `?method=PUT&limit=${on.page}`)),
  },
  {
    name: 'count',
    times: 100,
    run: (on, turn) => ok(on.owner.list(endpointOf(on, nthOf(on, 0, 1, turn)), '?limit=1')),
  },
  {
    name: 'detail',
    times: 400,
    run: (on, turn) => ok(on.owner.entry(on.rows.idOf(nthOf(on, 0.6, 0.99, turn)))),
  },
  {
    name: 'delete of 1 entry',
    times: 80,
    run: (on, turn) => ok(on.owner.remove(on.rows.idOf(entryAt(on, 0.5) + turn))),
  },
  {
    name: `delete of ${DELETED_AT_ONCE} entries`,
    times: 10,
    run(on, turn) {
      const first = entryAt(on, 0.1) + turn * DELETED_AT_ONCE;
      const ids = Array.from({ length: DELETED_AT_ONCE }, (_, i) => on.rows.idOf(first + i));
      return ok(on.owner.removeMany(ids));
    },
  },
];

/** Runs once before the rounds, because one sweep is one run of its code. */
export const RETENTION: Operation = {
  name: 'retention, per entry',
  times: 1,
  run: (on) => on.sweep('retired', () => on.retireADay()),
};

/** Of those among many: their entries go later. */
export const DELETE_ENDPOINT: Operation = {
  name: 'delete of an endpoint',
  times: 1,
  run: (on, turn) => ok(on.owner.removeEndpoint(on.rows.endpoints[turn] as string)),
};

/** Of the only endpoint; one sweep has 20 s, so it may leave some entries to the next one. */
export const PURGE: Operation = {
  name: 'delete of an endpoint, per entry',
  times: 1,
  run: (on) => on.sweep('purged', () => ok(on.owner.removeEndpoint(on.rows.endpoints[0] as string))),
};

import { setTimeout as sleep } from 'node:timers/promises';
import { timeOfId } from '../domain/ids.ts';
import { addToCounters, insertRequests, isStored, lockEndpoints } from '../store/capture-batches.ts';
import { inTransaction, type Connection, type Database } from '../store/database.ts';
import { lockDeadLetter, refuseAgain, removeDeadLetter } from '../store/dead-letters.ts';
import { isConnectionError, isRefusedData, isUnavailable, mayBeDataError } from '../store/sql-errors.ts';

const TRIES = 5;
const PAUSE_MS = 100;

/**
 * What became of a dead letter: its capture is an entry now, or was one before; its endpoint is gone, and the
 * letter with it; the database refused it again; or somebody else has dealt with it.
 */
export type Replayed = 'stored' | 'stored before' | 'endpoint gone' | 'refused' | 'not there';

/**
 * Turns a dead letter into an entry: row, counters and the letter's removal in one transaction, so that neither
 * a crash nor a second replay at the same time loses or doubles it. It keeps its id and with it the time of its
 * arrival, and takes the next `seq`, by which subscribers that catch up find it. It counted for its day when it
 * was accepted, and does not again.
 *
 * @throws the driver's error when the database can't do it now; after a lost connection it may be done all the same
 */
export async function replayDeadLetter({ pool }: Database, id: string): Promise<Replayed> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await inTransaction(pool, (connection) => replay(connection, id));
    } catch (error) {
      // Somebody else held a row for too long, or a deadlock: nothing has happened.
      if (tried === TRIES || isConnectionError(error) || !isUnavailable(error)) throw error;
      await sleep(PAUSE_MS * tried);
    }
  }
}

async function replay(connection: Connection, id: string): Promise<Replayed> {
  const capture = await lockDeadLetter(connection, id);
  if (capture === undefined) return 'not there';
  const { endpointId } = capture;
  const count = (await lockEndpoints(connection, [endpointId])).get(endpointId);
  let outcome: Replayed = 'stored';
  if (count === undefined) outcome = 'endpoint gone';
  // After a restored backup, say.
  else if (await isStored(connection, id)) outcome = 'stored before';
  else {
    try {
      await insertRequests(connection, [{ ...capture, seq: count + 1 }]);
    } catch (error) {
      if (!isRefusedData(error) && !mayBeDataError(error)) throw error;
      const { code, name } = error as Error & { code?: string };
      await refuseAgain(connection, id, code ?? name);
      return 'refused';
    }
    await addToCounters(connection, new Map([[endpointId, { count: 1, lastAt: new Date(timeOfId(id)) }]]));
  }
  await removeDeadLetter(connection, id);
  return outcome;
}

import { setTimeout as sleep } from 'node:timers/promises';
import { timeOfId } from '../domain/ids.ts';
import { addToCounters, insertRequests, isStored, lockEndpoints } from '../store/capture-batches.ts';
import { inTransaction, type Connection, type Database } from '../store/database.ts';
import { lockDeadLetter, refuseAgain, removeDeadLetter } from '../store/dead-letters.ts';
import { codeOf, isConnectionError, isRefusedData, isUnavailable, mayBeDataError } from '../store/sql-errors.ts';

const TRIES = 5;
const PAUSE_MS = 100;

/** `endpoint gone` also removes the letter; `not there` means that it was removed meanwhile. */
export type Replayed = 'stored' | 'stored before' | 'endpoint gone' | 'refused' | 'not there';

/**
 * Turns a dead letter into an entry: row, counters and the removal of the letter in one transaction, so that neither a
 * crash nor a concurrent replay loses or duplicates it. It keeps its id (and so its time of arrival), and gets the next
 * `seq`, by which subscribers find it when they catch up. It does not count for a day again.
 * @throws the driver's error when the database cannot do it now; after a lost connection it may be done all the same
 */
export async function replayDeadLetter({ pool }: Database, id: string): Promise<Replayed> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await inTransaction(pool, (connection) => replay(connection, id));
    } catch (error) {
      // Another transaction held a row for too long, or there was a deadlock: nothing was changed.
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
  else if (await isStored(connection, id)) outcome = 'stored before';
  else {
    try {
      await insertRequests(connection, [{ ...capture, seq: count + 1 }]);
    } catch (error) {
      if (!isRefusedData(error) && !mayBeDataError(error)) throw error;
      await refuseAgain(connection, id, codeOf(error as Error));
      return 'refused';
    }
    await addToCounters(connection, new Map([[endpointId, { count: 1, lastAt: new Date(timeOfId(id)) }]]));
  }
  await removeDeadLetter(connection, id);
  return outcome;
}

import type { Socket } from 'node:net';
import { createPool, type Pool, type PoolConnection } from 'mysql2/promise';
import type { PoolConnection as CallbackConnection } from 'mysql2';
import knex, { type Knex } from 'knex';
import type { MysqlConfig } from '../config.ts';
import { withDeadline } from '../deadline.ts';
import { isConnectionError } from './sql-errors.ts';

export type Connection = PoolConnection;

/** One pool, two ways in: `knex` for management queries, `pool` for the hot path's prepared statements. */
export interface Database {
  knex: Knex;
  pool: Pool;
  /** Connections of the pool right now; `waiting` = callers that queue for one. */
  connections(): { open: number; idle: number; waiting: number };
  close(): Promise<void>;
}

/**
 * Each statement sees what is committed when it starts, and locks only what it matches:
 * reads follow acknowledged captures, and locking a missing endpoint locks no gap.
 * Strict mode, because a silently cut value would be a corrupted capture.
 */
const SESSION = [
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  `SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', innodb_lock_wait_timeout = 5`,
];

const QUEUE_LIMIT = 500;

/** Far beyond what a transaction takes; its outcome is unknown then, and the ledger knows. */
const TRANSACTION_DEADLINE_MS = 20_000;
const ROLLBACK_DEADLINE_MS = 2_000;

/**
 * Far beyond what a statement takes. A server that vanished without a word would leave a pool full of connections that
 * wait for it.
 */
const SILENCE_MS = 20_000;

/**
 * Opens lazily: no connection is made before the first query, so that a dead database stops nobody from starting.
 *
 * @param silenceMs after which a connection is given up that carries nothing, whether a statement waits on it or not; 0
 * = never
 */
export function openDatabase(config: MysqlConfig, silenceMs = SILENCE_MS): Database {
  const pool = createPool({
    host: config.host,
    port: config.port,
    user: config.user,
    password: config.password,
    database: config.database,
    // Without this the driver takes any certificate of a trusted authority, whoever it was made for.
    ...(config.tls && { ssl: { verifyIdentity: true, minVersion: 'TLSv1.2' } }),
    connectionLimit: config.poolSize,
    maxIdle: config.poolSize,
    idleTimeout: 60_000,
    connectTimeout: 2_000,
    // More that wait than can be answered in time are refused at once.
    queueLimit: QUEUE_LIMIT,
    timezone: 'Z',
    charset: 'utf8mb4_bin',
    jsonStrings: true,
    // Cached per connection, while the server caps the number over all connections.
    maxPreparedStatements: 100,
  });
  pool.on('connection', (connection) => {
    const raw = connection as unknown as CallbackConnection & { stream: Socket };
    raw.stream.setTimeout(silenceMs, () =>
      raw.stream.destroy(
        Object.assign(new Error(`the database said nothing for ${silenceMs} ms`), { code: 'ETIMEDOUT' }),
      ),
    );
    // A connection without this session is worse than none: it is closed, and its user sees a lost connection.
    for (const statement of SESSION) raw.query(statement, (error) => error && raw.destroy());
  });
  const db = knex({
    client: 'mysql2',
    connectionPool: pool,
    // Otherwise knex writes values, and so captured data, into error messages.
    compileSqlOnError: false,
    // It prints to the console what it also throws, and only the latter is ours to log.
    log: { warn() {}, error() {}, deprecate() {}, debug() {} },
  });
  return {
    knex: db,
    pool,
    connections: () => poolState(pool),
    async close() {
      await db.destroy();
      await pool.end();
    },
  };
}

/** What mysql2 keeps to itself; a test holds that the pinned version still has it. */
interface PoolInternals {
  _allConnections: { length: number };
  _freeConnections: { length: number };
  _connectionQueue: { length: number };
}

function poolState(pool: Pool): ReturnType<Database['connections']> {
  const {
    _allConnections: all,
    _freeConnections: free,
    _connectionQueue: queue,
  } = pool.pool as unknown as PoolInternals;
  return { open: all.length, idle: free.length, waiting: queue.length };
}

/**
 * Runs `work` in a transaction on a connection of its own; any error rolls the whole of it back.
 *
 * @throws what `work` threw, or the driver's error when the commit's outcome is not known
 */
export async function inTransaction<T>(pool: Pool, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await pool.getConnection();
  try {
    // A server that vanished without a word leaves a connection that nothing else would end.
    return await withDeadline(TRANSACTION_DEADLINE_MS, commit(connection, work));
  } catch (error) {
    await abandon(connection, error);
    throw error;
  }
}

async function commit<T>(connection: Connection, work: (connection: Connection) => Promise<T>): Promise<T> {
  await connection.query('START TRANSACTION');
  const result = await work(connection);
  await connection.query('COMMIT');
  connection.release();
  return result;
}

async function abandon(connection: Connection, error: unknown): Promise<void> {
  if (isConnectionError(error)) return connection.destroy();
  try {
    await withDeadline(ROLLBACK_DEADLINE_MS, connection.query('ROLLBACK'));
    connection.release();
  } catch {
    connection.destroy();
  }
}

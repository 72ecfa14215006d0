import type { Socket } from 'node:net';
import { createPool, type Pool, type PoolConnection } from 'mysql2/promise';
import type { PoolConnection as CallbackConnection } from 'mysql2';
import knex, { type Knex } from 'knex';
import type { MysqlConfig } from '../config.ts';
import { withDeadline } from '../deadline.ts';
import { isConnectionError } from './sql-errors.ts';

export type Connection = PoolConnection;

/** One pool for both: `knex` for management queries, `pool` for the prepared statements of the hot path. */
export interface Database {
  knex: Knex;
  pool: Pool;
  /** Connections of the pool; `waiting` = callers in its queue. */
  connections(): { open: number; idle: number; waiting: number };
  close(): Promise<void>;
}

/**
 * Each statement reads what is committed when it starts, and locks only matching rows: reads follow acknowledged
 * captures, and locking a missing endpoint locks no gap. Strict mode, because a silently cut value would be a corrupted
 * capture.
 */
const SESSION = [
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  `SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', innodb_lock_wait_timeout = 5`,
];

const QUEUE_LIMIT = 500;

/** Far longer than a transaction takes. Its outcome is unknown then; the next run finds it in the ledger. */
const TRANSACTION_DEADLINE_MS = 20_000;
const ROLLBACK_DEADLINE_MS = 2_000;

/** Far longer than a statement takes. A server that vanished silently would block all connections of a pool. */
const SILENCE_MS = 20_000;

export interface DatabaseOptions {
  /** After which a connection without traffic is closed, whether a statement runs on it or not; 0 = never. */
  silenceMs?: number;
  /** Whether one query may have several statements, which saves round trips; off where clients' input is queried. */
  joinedStatements?: boolean;
}

/** Opens lazily: no connection is made before the first query, so a process can start during an outage. */
export function openDatabase(
  config: MysqlConfig,
  { silenceMs = SILENCE_MS, joinedStatements = false }: DatabaseOptions = {},
): Database {
  const pool = createPool({
    host: config.host,
    port: config.port,
    user: config.user,
    password: config.password,
    database: config.database,
    // By default the driver accepts any certificate of a trusted authority, whatever its host name.
    ...(config.tls && { ssl: { verifyIdentity: true, minVersion: 'TLSv1.2' } }),
    connectionLimit: config.poolSize,
    maxIdle: config.poolSize,
    idleTimeout: 60_000,
    connectTimeout: 2_000,
    // Waiting callers beyond what can be answered in time are refused at once.
    queueLimit: QUEUE_LIMIT,
    timezone: 'Z',
    charset: 'utf8mb4_bin',
    jsonStrings: true,
    multipleStatements: joinedStatements,
    // A stack for each statement would cost as much as the rest of it here.
    trace: false,
    // Cached per connection, while the server limits the number over all connections.
    maxPreparedStatements: 100,
  });
  pool.on('connection', (connection) => {
    const raw = connection as unknown as CallbackConnection & { stream: Socket };
    raw.stream.setTimeout(silenceMs, () =>
      raw.stream.destroy(
        Object.assign(new Error(`the database sent nothing for ${silenceMs} ms`), { code: 'ETIMEDOUT' }),
      ),
    );
    // A connection must not be used without this session: it is closed, and its user gets a lost connection.
    for (const statement of SESSION) raw.query(statement, (error) => error && raw.destroy());
  });
  const db = knex({
    client: 'mysql2',
    connectionPool: pool,
    // Otherwise knex writes values, and thus captured data, into error messages.
    compileSqlOnError: false,
    // knex prints errors to the console and also throws them; the caller logs them.
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

/** Private fields of mysql2; a test checks that the pinned version has them. */
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

/** Rolls back after any error. Throws the error of `work`, or the driver's when the outcome is unknown. */
export async function inTransaction<T>(pool: Pool, work: (connection: Connection) => Promise<T>): Promise<T> {
  return onConnection(pool, async (connection) => {
    await connection.query('START TRANSACTION');
    const result = await work(connection);
    await connection.query('COMMIT');
    return result;
  });
}

/** The same for work that begins and commits its transaction itself. */
export async function onConnection<T>(pool: Pool, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await pool.getConnection();
  try {
    // A server that vanished silently leaves a connection that nothing else would close.
    const result = await withDeadline(TRANSACTION_DEADLINE_MS, work(connection));
    connection.release();
    return result;
  } catch (error) {
    await rollBack(connection, error);
    throw error;
  }
}

async function rollBack(connection: Connection, error: unknown): Promise<void> {
  if (isConnectionError(error)) return connection.destroy();
  try {
    await withDeadline(ROLLBACK_DEADLINE_MS, connection.query('ROLLBACK'));
    connection.release();
  } catch {
    connection.destroy();
  }
}

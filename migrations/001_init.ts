import type { Knex } from 'knex';

/*
 * Portable to MySQL, MariaDB and compatible distributed engines: no foreign keys, no stored code. User ids are bytes,
 * because text collations pad: 'ann' would equal 'ann '.
 */
const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin';

const STATEMENTS = [
  // A user has the plan of its last token, because captures carry no token.
  `CREATE TABLE IF NOT EXISTS users (
    id VARBINARY(1020) NOT NULL PRIMARY KEY,
    plan VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    created_at DATETIME(3) NOT NULL,
    updated_at DATETIME(3) NOT NULL
  ) ${TABLE}`,

  // request_count only grows and numbers the captures; stored_count is the number of entries that are left.
  `CREATE TABLE IF NOT EXISTS endpoints (
    id BINARY(16) NOT NULL PRIMARY KEY,
    user_id VARBINARY(1020) NOT NULL,
    alias VARCHAR(48) CHARACTER SET ascii COLLATE ascii_bin NULL,
    is_permanent TINYINT NOT NULL,
    expires_at DATETIME(3) NULL,
    request_count BIGINT NOT NULL DEFAULT 0,
    stored_count BIGINT NOT NULL DEFAULT 0,
    last_request_at DATETIME(3) NULL,
    created_at DATETIME(3) NOT NULL,
    updated_at DATETIME(3) NOT NULL,
    UNIQUE KEY endpoints_alias (alias),
    KEY endpoints_user (user_id, created_at, id),
    KEY endpoints_expiry (expires_at)
  ) ${TABLE}`,

  // id is a UUIDv7 with the time of arrival; path, query and headers are derived from target and raw_headers.
  `CREATE TABLE IF NOT EXISTS requests (
    id BINARY(16) NOT NULL PRIMARY KEY,
    endpoint_id BINARY(16) NOT NULL,
    seq BIGINT NOT NULL,
    method VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    target MEDIUMTEXT NOT NULL,
    raw_headers MEDIUMTEXT NOT NULL,
    ip VARCHAR(45) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    size INT NOT NULL,
    is_utf8 TINYINT NOT NULL,
    body LONGBLOB NOT NULL,
    UNIQUE KEY requests_endpoint_seq (endpoint_id, seq),
    KEY requests_endpoint_id (endpoint_id, id)
  ) ${TABLE}`,

  // The ledger: a batch whose id is in it is stored, and is not stored again.
  `CREATE TABLE IF NOT EXISTS capture_batches (
    id BINARY(16) NOT NULL PRIMARY KEY
  ) ${TABLE}`,

  `CREATE TABLE IF NOT EXISTS daily_usage (
    user_id VARBINARY(1020) NOT NULL,
    day DATE NOT NULL,
    accepted BIGINT NOT NULL,
    PRIMARY KEY (user_id, day)
  ) ${TABLE}`,

  // Captures that the database refused, complete, for an operator to replay.
  `CREATE TABLE IF NOT EXISTS dead_letters (
    id BINARY(16) NOT NULL PRIMARY KEY,
    batch_id BINARY(16) NOT NULL,
    endpoint_id BINARY(16) NOT NULL,
    user_id VARBINARY(1020) NOT NULL,
    error_code VARCHAR(64) NOT NULL,
    capture LONGBLOB NOT NULL,
    created_at DATETIME(3) NOT NULL
  ) ${TABLE}`,

  // Deleted endpoints whose entries still have to be purged.
  `CREATE TABLE IF NOT EXISTS purges (
    endpoint_id BINARY(16) NOT NULL PRIMARY KEY,
    created_at DATETIME(3) NOT NULL
  ) ${TABLE}`,
];

export async function up(knex: Knex): Promise<void> {
  for (const statement of STATEMENTS) await knex.raw(statement);
}

/** Rolling back would delete captures: restore a backup instead. */
export async function down(): Promise<void> {
  throw new Error('001_init cannot be undone without losing captures');
}

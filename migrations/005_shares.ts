import type { Knex } from 'knex';

/*
 * Share links. The database has only the SHA-256 of a token, so a copy of it opens nothing. `request_id` is null for a
 * link to a whole endpoint, and `covers_until` where it has no bound but the expiry. A withdrawal moves the expiry.
 */
const SHARES = `CREATE TABLE IF NOT EXISTS shares (
  id BINARY(16) NOT NULL PRIMARY KEY,
  token_hash BINARY(32) NOT NULL,
  user_id VARBINARY(1020) NOT NULL,
  endpoint_id BINARY(16) NOT NULL,
  request_id BINARY(16) NULL,
  redact TINYINT NOT NULL,
  label VARCHAR(100) NULL,
  covers_until DATETIME(3) NULL,
  expires_at DATETIME(3) NOT NULL,
  created_at DATETIME(3) NOT NULL,
  UNIQUE KEY shares_token (token_hash),
  KEY shares_endpoint (endpoint_id, request_id),
  KEY shares_expiry (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(SHARES);
}

/** Not needed: the previous version works with the table. */
export async function down(): Promise<void> {}

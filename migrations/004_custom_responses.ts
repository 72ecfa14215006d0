import type { Knex } from 'knex';

/*
 * What an endpoint answers in place of the receipt (JSON), and a number that grows with each change of it. The previous
 * version names no columns when it reads and leaves both out when it inserts, so it still works.
 */
const TABLE = 'endpoints';
const COLUMNS = { response: 'MEDIUMTEXT NULL', response_version: 'BIGINT NOT NULL DEFAULT 0' };

export async function up(knex: Knex): Promise<void> {
  for (const [name, type] of Object.entries(COLUMNS)) {
    if (await knex.schema.hasColumn(TABLE, name)) continue;
    await knex.raw(`ALTER TABLE ${TABLE} ADD COLUMN ${name} ${type}`);
  }
}

/** Not needed: the previous version works with the columns. */
export async function down(): Promise<void> {}

import type { Knex } from 'knex';

/*
 * Adds the time of storing to the ledger. Names no algorithm: servers that can add the column without touching rows,
 * and the index without blocking writes, choose these. The previous version inserts the id alone, and still works.
 */
const TABLE = 'capture_batches';
const COLUMN = 'stored_at';
const INDEX = 'capture_batches_stored';

export async function up(knex: Knex): Promise<void> {
  if (!(await knex.schema.hasColumn(TABLE, COLUMN))) {
    await knex.raw(`ALTER TABLE ${TABLE} ADD COLUMN ${COLUMN} DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)`);
  }
  if (!(await hasIndex(knex))) await knex.raw(`ALTER TABLE ${TABLE} ADD KEY ${INDEX} (${COLUMN})`);
}

async function hasIndex(knex: Knex): Promise<boolean> {
  const [rows] = (await knex.raw(`SHOW INDEX FROM ${TABLE} WHERE Key_name = ?`, [INDEX])) as [unknown[]];
  return rows.length > 0;
}

/** Not needed: the previous version works with the column. */
export async function down(): Promise<void> {}

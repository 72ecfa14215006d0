import type { Knex } from 'knex';

/** An index to count a user's endpoints, permanent ones and those that have not expired, without reading their rows. */
export async function up(knex: Knex): Promise<void> {
  const find = "SHOW INDEX FROM endpoints WHERE Key_name = 'endpoints_user_expiry'";
  const [existing] = (await knex.raw(find)) as [unknown[]];
  if (existing.length > 0) return;
  await knex.raw('ALTER TABLE endpoints ADD KEY endpoints_user_expiry (user_id, expires_at, is_permanent)');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE endpoints DROP KEY endpoints_user_expiry');
}

import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/*
 * Each row decides what the specification leaves open, and a test covers it by its name in brackets, in its title or
 * that of its group.
 */
const ROWS = [
  '`expires_at` / `expiresAt` of a permanent endpoint; `last_request_at` before the first capture',
  'Timestamps',
  'Default lifetime',
  'Plans',
  "A user's plan",
  'Token',
  'Missing, malformed, expired or forged token',
  "Unknown, malformed or another owner's id on any management route",
  'Create: body',
  "Create: permanent over the plan's number",
  "Create: over the plan's number of endpoints",
  'Endpoints: `limit`, `offset`, `before`',
  'Alias',
  'Alias and URL',
  'Path below the id',
  'Unknown endpoint on `/h`',
  'Expired endpoint on `/h`',
  'Expired endpoint, management',
  'Create accepts',
  '`limit`, `offset`',
  'Order of entries',
  '`total`',
  'Keyset paging (extra)',
  'Very large bodies in lists',
  '`size`',
  '`body`',
  'Compressed bodies',
  '`headers`',
  '`query`',
  'No content type, no user agent',
  '`ip`',
  'Methods',
  'Receipt',
  '413',
  '429',
  '503',
  '`dailyRequestsMax` of an unlimited plan',
  'Batch delete',
  'Verify: missing or wrong-type field, unknown provider, bad JSON',
  'Verify: provider-level failure',
  'Verify: `expected`, `actual`',
  'Verify: Stripe',
  'Verify: Slack',
  'Verify: age of a timestamp',
  'Verify: limits',
  'Management rate limit',
  'WebSocket',
  '`seq` (extra field of the log entry)',
  'Subscription',
  'Event',
  '404 for other routes, 405 for other methods on known routes',
  'OpenAPI',
  '`target`, `raw_headers`',
  'Filter',
  'Find: by method and time',
  'Find: by content',
  'Find: bounds',
  'Custom response',
  '`X-Hookbay-Request-Id`',
  'Security headers below `/h`',
  '`CAPTURE_BASE_URL`',
  'Share link',
  'Share link: reach',
  'Share link: end',
  'Share link: `redact`',
  'Share link: search',
  'Share link: limits',
  'Export',
  'Export: whole',
  'Export: end',
  'Export: limits',
  'Export: ends early',
  'Export: one at a time',
  'Export: HAR',
  'Export: CSV',
  'Export: curl',
  'Wait',
  'Event stream',
  '`/s`',
  '`bodyBytes`',
  'Subscription: `bodyBytes`',
  'Activity',
];

/** Titles with brackets at their end, by the text in the brackets. */
function tests(): Map<string, string> {
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.test.ts') && !name.endsWith('decisions.test.ts'),
  );
  const titles = files.flatMap((file) =>
    [
      ...readFileSync(`test/${file}`, 'utf8').matchAll(/(['"])((?:(?!\1)[^\\]|\\.)+) \[((?:(?!\1)[^\\]|\\.)+)\]\1/g),
    ].map(([, , title, tag]) => [tag?.replaceAll("\\'", "'"), `${file}: ${title}`] as const),
  );
  return new Map(titles.map(([tag, title]) => [tag ?? '', title]));
}

test.each(ROWS)('there is a test for the row %s', (row) => {
  const found = [...tests()].filter(([tag]) => tag === row || tag.split('; ').includes(row)).map(([, title]) => title);
  expect(found, 'tests that name this row').not.toEqual([]);
});

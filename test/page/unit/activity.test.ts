import { expect, test } from 'vitest';
import { count, MINUTE_MS, readActivity } from '../../../src/page/state/activity.ts';
import { inWords } from '../../../src/page/view/list/activity.ts';

const SINCE = Date.parse('2026-11-22T12:00:00.000Z');
const HOUR = readActivity({
  since: '2026-11-22T12:00:00.000Z',
  until: '2026-11-22T12:04:00.000Z',
  counts: [5, 0, 0, 1],
});

test('arrivals count in their minute', () => {
  expect(count(HOUR, [SINCE + MINUTE_MS, SINCE + MINUTE_MS + 59_999, SINCE + 3 * MINUTE_MS]).counts).toEqual([
    5, 2, 0, 2,
  ]);
});

test('a later minute moves the picture on, and what is too old is left out', () => {
  const moved = count(HOUR, [SINCE + 5 * MINUTE_MS, SINCE, SINCE + 2 * MINUTE_MS]);
  expect(moved).toEqual({ since: SINCE + 2 * MINUTE_MS, counts: [1, 1, 0, 1], countedFrom: undefined });
  expect(count(HOUR, [SINCE + 1_000 * MINUTE_MS]).counts).toEqual([0, 0, 0, 1]);
});

test('the picture is a sentence for people who do not see it', () => {
  expect(inWords(HOUR, 'utc')).toBe('6 captures in the last hour, most at 12:00');
  expect(inWords({ ...HOUR, countedFrom: SINCE }, 'utc')).toBe('At least 6 captures in the last hour, most at 12:00');
  expect(inWords({ ...HOUR, counts: [0, 0] }, 'utc')).toBe('No captures in the last hour');
  expect(inWords({ ...HOUR, counts: [0, 1] }, 'utc')).toBe('1 capture in the last hour, most at 12:01');
});

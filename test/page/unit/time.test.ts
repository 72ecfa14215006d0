import { afterEach, expect, test } from 'vitest';
import { exactSize, formatCount, formatSize } from '../../../src/page/content/size.ts';
import { dayKey, formatDateTime, formatMinute, formatTime, relativeTime } from '../../../src/page/content/time.ts';

const ISO = '2026-11-22T23:03:11.204Z';
const zone = process.env['TZ'];

afterEach(() => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
});

test('times have milliseconds and name their zone', () => {
  process.env['TZ'] = 'Asia/Kolkata';
  expect(formatTime(ISO, 'utc')).toBe('23:03:11.204');
  expect(formatTime(ISO, 'local')).toBe('04:33:11.204');
  expect(formatDateTime(ISO, 'utc')).toBe('2026-11-22 23:03:11.204 UTC');
  expect(formatDateTime(ISO, 'local')).toBe('2026-11-23 04:33:11.204 +05:30');
  expect([dayKey(ISO, 'utc'), dayKey(ISO, 'local')]).toEqual(['2026-11-22', '2026-11-23']);
  expect(formatMinute(ISO, 'local')).toBe('2026-11-23 04:33 +05:30');
  process.env['TZ'] = 'America/New_York';
  expect(formatDateTime('2026-07-01T00:00:00.000Z', 'local')).toBe('2026-06-30 20:00:00.000 -04:00');
});

test('what is no time stays as it is', () => {
  for (const text of ['', 'soon']) expect([formatTime(text, 'utc'), relativeTime(text, 0)]).toEqual([text, text]);
});

test('relative times round down what is past, and up what is to come', () => {
  const now = Date.parse(ISO);
  const ago = (seconds: number): string => relativeTime(ISO, now + seconds * 1000);
  expect([0, 3.9, 60, 3599, 7200, 200_000].map(ago)).toEqual([
    'now',
    '3 s ago',
    '1 min ago',
    '59 min ago',
    '2 h ago',
    '2 d ago',
  ]);
  const to = (seconds: number): string => ago(-seconds);
  const hours = 3_600;
  expect([0.4, 41, 5.5 * hours, 24 * hours, 47.5 * hours, 48 * hours, 167 * hours, 168 * hours].map(to)).toEqual([
    'in 1 s',
    'in 41 s',
    'in 6 h',
    'in 24 h',
    'in 48 h',
    'in 2 d',
    'in 7 d',
    'in 7 d',
  ]);
});

test('sizes are rounded, or exact', () => {
  const sizes = [0, 1, 999, 1000, 2134, 999_949, 999_950, 26_214_400, 3e9];
  expect(sizes.map(formatSize)).toEqual([
    '0 B',
    '1 B',
    '999 B',
    '1.0 kB',
    '2.1 kB',
    '999.9 kB',
    '1.0 MB',
    '26.2 MB',
    '3.0 GB',
  ]);
  expect([0, 1, 2134].map(exactSize)).toEqual(['0 bytes', '1 byte', '2,134 bytes']);
  expect([12, 999, 1000, 81_234, 1_234_567].map(formatCount)).toEqual(['12', '999', '1,000', '81,234', '1,234,567']);
});

import { expect, test } from 'vitest';
import { formatOf, FORMATS } from '../../../src/domain/export/format.ts';
import { END_CHARACTERS, readExportEnd } from '../../../src/page/model/export-end.ts';

const ENDS = [
  { count: 0, next: 0, more: false },
  { count: 12, next: 81_234, more: false },
  { count: 100_000, next: Number.MAX_SAFE_INTEGER, more: true },
];

test.each(FORMATS)('%s: its end is read from the last characters, as the server writes it', (name) => {
  const format = formatOf(name, 'https://hooks.example.com');
  for (const end of ENDS) {
    const file = `${format.start}${format.end(end)}`;
    expect(readExportEnd(name, file.slice(-END_CHARACTERS))).toEqual(end);
    expect(readExportEnd(name, `${'x'.repeat(END_CHARACTERS)}\r\n${format.end(end)}`.slice(-END_CHARACTERS))).toEqual(
      end,
    );
  }
});

test.each(FORMATS)('%s: a file that broke off has none, whatever a sender wrote last', (name) => {
  const format = formatOf(name, 'https://hooks.example.com');
  const end = format.end({ count: 3, next: 3, more: false });
  for (const file of ['', format.start, end.slice(0, -1), `${end}x`, `{"body":"${end.trim()}`, `"${end.trim()}`])
    expect(readExportEnd(name, file)).toBeUndefined();
});

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { presentRequest } from '../../../src/domain/log-entry.ts';
import {
  addHeader,
  formatFilter,
  matcher,
  NO_FILTER,
  parseFilter,
  searchQuery,
} from '../../../src/page/model/filter.ts';
import { makeCapture } from '../../support/captures.ts';
import { captureFields, finds, modelCapture, modelQuery } from '../../support/filter-model.ts';

const KEY = 'acc193a8-b73b-4634-9b57-1cc0db59b830';

test('the page finds in what is loaded what the API finds in what is stored', () => {
  const query = modelQuery.filter(({ json }) => json === undefined);
  fc.assert(
    fc.property(modelCapture, query, (fields, { header = [], ...rest }) => {
      const capture = makeCapture(KEY, captureFields(fields, KEY, 1));
      const entry = presentRequest({ ...capture, seq: 1, size: capture.body.length });
      const parameters = new URLSearchParams(rest as Record<string, string>);
      for (const text of header) parameters.append('header', text);
      const found = matcher(parseFilter(parameters))(entry);
      const expected = finds({ header, ...rest }, capture);
      // Beyond ASCII, the page ignores case more often than the API.
      if (/^[\0-\x7f]*$/.test([rest.q, ...header].join(''))) expect(found).toBe(expected);
      else expect(found || !expected).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('a filter survives the address, and what is no filter is left out', () => {
  const filter = {
    q: 'a&b=c #?%',
    methods: ['POST', 'M-SEARCH'],
    type: 'text/plain',
    headers: [['x-a', 'one: two'] as const, ['x-b', ''] as const],
    path: '/a b/ü',
    since: '2026-11-22T12:00:00.000Z',
    until: '2026-11-22T12:01:00.000Z',
  };
  expect(parseFilter(new URLSearchParams(formatFilter(filter).toString()))).toEqual(filter);
  const hostile = { q: 'x'.repeat(5_000), method: 'post,<b>,', path: 'x', since: 'never', until: '1e99', header: ':' };
  const read = parseFilter(new URLSearchParams(hostile));
  expect(read).toEqual({ ...NO_FILTER, q: 'x'.repeat(200), methods: ['POST'] });
});

test('the API is asked for the content type as a header', () => {
  expect(String(searchQuery({ ...NO_FILTER, type: 'text/plain' }))).toBe('header=content-type%3Atext%2Fplain');
});

test('a header is added once, and of five the first one goes', () => {
  let filter = addHeader(addHeader(NO_FILTER, 'X-A', '1'), 'x-a', '1');
  expect(filter.headers).toEqual([['x-a', '1']]);
  for (const text of ['2', '3', '4', '5']) filter = addHeader(filter, 'x-a', text);
  expect(filter.headers.map(([, text]) => text)).toEqual(['2', '3', '4', '5']);
});

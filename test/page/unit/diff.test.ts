import { expect, test } from 'vitest';
import { compareEntries } from '../../../src/page/content/diff.ts';
import { entryOf, type Sent } from './entries.ts';

const compare = (a: Sent, b: Sent): ReturnType<typeof compareEntries> => compareEntries(entryOf(a), entryOf(b));

test('the same request is identical, whatever its time, address and id', async () => {
  const sent: Sent = { target: '/h/x?a=1', headers: [['A', '1']], body: '{"a":1}' };
  const later = { ...entryOf(sent), id: 'other', seq: 9, ip: '::1', created_at: '2027-01-01T00:00:00.000Z' };
  expect(await compareEntries(entryOf(sent), later)).toEqual({
    identical: true,
    sections: ['Request', 'Query', 'Headers'].map((title) => ({ title, changes: [] })),
    body: { identical: true, pretty: false, more: 0 },
  });
});

test('method, path, query and headers are compared by name', async () => {
  const difference = await compare(
    {
      method: 'POST',
      target: '/h/x/a?same=1&b=2&c=3',
      headers: [
        ['X-A', '1'],
        ['X-B', '1'],
        ['X-B', '2'],
        ['X-C', '1'],
      ],
    },
    {
      method: 'PUT',
      target: '/h/x/b?same=1&b=3&d=4',
      headers: [
        ['x-a', '1'],
        ['X-B', '1, 2'],
        ['X-D', '1'],
      ],
    },
  );
  expect(difference.identical).toBe(false);
  expect(difference.sections.map(({ changes }) => changes)).toEqual([
    [
      { name: 'method', a: ['POST'], b: ['PUT'] },
      { name: 'path', a: ['/h/x/a'], b: ['/h/x/b'] },
    ],
    [
      { name: 'b', a: ['2'], b: ['3'] },
      { name: 'c', a: ['3'], b: [] },
      { name: 'd', a: [], b: ['4'] },
    ],
    [
      { name: 'x-b', a: ['1', '2'], b: ['1, 2'] },
      { name: 'x-c', a: ['1'], b: [] },
      { name: 'x-d', a: [], b: ['1'] },
    ],
  ]);
  expect(difference.body.identical).toBe(true);
});

test('a query in another order or encoding differs as it was sent', async () => {
  const { identical, sections } = await compare({ target: '/h/x?a=1&b=%7e' }, { target: '/h/x?b=~&a=1' });
  expect([identical, sections[1]?.changes]).toEqual([false, [{ name: 'as sent', a: ['?a=1&b=%7e'], b: ['?b=~&a=1'] }]]);
});

test('without raw headers on one side, joined values are compared', async () => {
  const entry = entryOf({
    headers: [
      ['X-A', '1'],
      ['X-A', '2'],
    ],
  });
  const { raw_headers: _, ...listed } = entry;
  expect((await compareEntries(entry, listed)).identical).toBe(true);
});

test('text is compared by lines', async () => {
  const { body } = await compare({ body: 'one\ntwo\nthree' }, { body: 'one\n2\nthree' });
  expect(body).toEqual({
    identical: false,
    pretty: false,
    more: 0,
    lines: [
      { kind: 'same', text: 'one' },
      { kind: 'a', text: 'two' },
      { kind: 'b', text: '2' },
      { kind: 'same', text: 'three' },
    ],
  });
});

test('JSON is compared by member, in one line or many, and numbers stay as sent', async () => {
  const { body } = await compare({ body: '{"a":1.0,"b":[1,2]}' }, { body: '{"a": 1.00,\n "b":[1,2,3]}' });
  expect([body.pretty, body.lines?.map(({ kind, text }) => `${kind}:${text}`)]).toEqual([
    true,
    [
      'same:{',
      'a:  "a": 1.0',
      'b:  "a": 1.00',
      'same:  "b": [',
      'same:    1',
      'same:    2',
      'b:    3',
      'same:  ]',
      'same:}',
    ],
  ]);
});

test('JSON that differs only in its space says so', async () => {
  const { body } = await compare({ body: '{"a":1}' }, { body: '{ "a": 1 }' });
  expect([body.identical, body.note]).toEqual([false, 'Only the space between the tokens of the JSON differs.']);
  expect((await compare({ body: 'a\n' }, { body: 'a' })).body.note).toBe('Only the line break at the end differs.');
  expect(
    (await compare({ body: 'a\nb\r\n' }, { body: 'a\nb\n' })).body.lines?.map(({ kind, text }) => kind + text),
  ).toEqual(['samea', 'ab\r', 'bb']);
});

test('a body against none, and cut JSON, are compared by lines', async () => {
  expect((await compare({ body: 'a' }, {})).body.lines).toEqual([{ kind: 'a', text: 'a' }]);
  const cut = (body: string) => ({ ...entryOf({ body }), body_truncated: true as const });
  expect((await compareEntries(cut('{"a":1,"b":"x'), cut('{"a":2,"b":"x'))).body).toMatchObject({
    pretty: true,
    identical: false,
  });
});

test('binary bodies say where they differ', async () => {
  const { body } = await compare({ body: Uint8Array.of(1, 0xff, 3) }, { body: Uint8Array.of(1, 0xff, 4, 5) });
  expect(body.note).toBe('The bodies are not both text. They differ from byte 2 on; their sizes are 3 and 4 bytes.');
});

test('cut bodies say that only their beginning is compared', async () => {
  const cut = { ...entryOf({ body: 'same' }), body_truncated: true as const, size: 9_000 };
  expect((await compareEntries(cut, { ...cut })).body).toMatchObject({
    identical: true,
    note: expect.stringContaining('beginning'),
  });
  expect((await compareEntries(cut, { ...cut, size: 9_001 })).identical).toBe(false);
});

test('the work is bounded: size, edits and lines', async () => {
  const numbers = (step: number): string => Array.from({ length: 5_000 }, (_, i) => `${i * step}.`).join('\n');
  expect((await compare({ body: numbers(1) }, { body: numbers(-1) })).body.note).toMatch(/differ too much/);
  expect((await compare({ body: 'x'.repeat(600_000) }, { body: 'y'.repeat(600_000) })).body.note).toMatch(/too large/);
  const { body } = await compare({ body: numbers(1) }, { body: `${numbers(1)}\nend` });
  expect([body.lines?.length, body.more]).toEqual([2_000, 3_001]);
  const headers = Array.from({ length: 1_000 }, (_, i): [string, string] => [`X-${i}`, '1']);
  expect((await compare({ headers }, {})).sections[2]?.changes).toHaveLength(200);
});

test('other work goes on between the steps of a comparison', async () => {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 0);
  const items = (step: number): string => JSON.stringify(Array.from({ length: 15_000 }, (_, i) => i * step));
  await compare({ body: items(1) }, { body: items(2) });
  clearInterval(timer);
  expect(turns).toBeGreaterThan(1);
});

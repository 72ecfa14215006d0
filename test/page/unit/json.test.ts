import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFilterPath, isJson, jsonLines, jsonString, type JsonLine } from '../../../src/page/content/json.ts';

function shown(lines: JsonLine[]): string[] {
  return lines.map(({ indent, tokens }) => ' '.repeat(indent) + tokens.map(({ text }) => text).join(''));
}

function joined(lines: JsonLine[]): string {
  return lines.flatMap(({ tokens }) => tokens.map(({ text }) => text)).join('');
}

test('tokens stay exactly as they were sent', () => {
  const text = String.raw`{"id":1152921506151679042,"n":1.0,"big":1e400,"n":-0,"s":"\u0041\/é","ok":true,"no":null}`;
  const lines = jsonLines(text);
  expect(shown(lines)).toEqual([
    '{',
    ' "id":1152921506151679042,',
    ' "n":1.0,',
    ' "big":1e400,',
    ' "n":-0,',
    String.raw` "s":"\u0041\/é",`,
    ' "ok":true,',
    ' "no":null',
    '}',
  ]);
  expect(lines[5]?.tokens.map(({ kind }) => kind)).toEqual(['key', 'punctuation', 'string', 'punctuation']);
  expect(lines[0]).toMatchObject({ close: 8, members: 7, path: '$' });
});

test('each line has its path, and an opening one where it closes', () => {
  const lines = jsonLines('{"a":{"b":[10,{"c d":"x"},[],{}]},"\\u0065.":[ ]}');
  expect(lines.map(({ path, close, members }) => [path, close, members])).toEqual([
    ['$', 12, 2],
    ['$.a', 10, 1],
    ['$.a.b', 9, 4],
    ['$.a.b[0]', undefined, undefined],
    ['$.a.b[1]', 6, 1],
    ['$.a.b[1]["c d"]', undefined, undefined],
    ['$.a.b[1]', undefined, undefined],
    ['$.a.b[2]', undefined, undefined],
    ['$.a.b[3]', undefined, undefined],
    ['$.a.b', undefined, undefined],
    ['$.a', undefined, undefined],
    ['$["\\u0065."]', undefined, undefined],
    ['$', undefined, undefined],
  ]);
});

test('the tokens of any JSON are its text without space, at any indent', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom(undefined, 1, '\t'), (json, space) => {
      const text = JSON.stringify(JSON.parse(json), null, space);
      const lines = jsonLines(text);
      expect(joined(lines)).toBe(JSON.stringify(JSON.parse(json)));
      for (const [i, { close, path }] of lines.entries())
        if (close !== undefined) expect([lines[close]?.path, close > i]).toEqual([path, true]);
    }),
  );
});

test('nothing of any text is lost, and what is JSON is decided as by the engine', () => {
  const fragments = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '"a"',
    '1',
    '-',
    '0',
    'e1',
    'true',
    'x',
    '\\',
    ' ',
  );
  const texts = fc.oneof(
    fc.array(fragments).map((parts) => parts.join('')),
    fc.tuple(fc.json(), fc.nat()).map(([json, at]) => json.slice(0, at % (json.length + 1))),
  );
  fc.assert(
    fc.property(texts, (text) => {
      expect(joined(jsonLines(text)).replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
      expect([text, isJson(text)]).toEqual([text, parses(text)]);
    }),
    { numRuns: 2_000 },
  );
});

test('what begins any JSON is JSON that was cut', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), (json, at) => {
      const text = json.slice(0, at % (json.length + 1));
      expect([text, isJson(text, true)]).toEqual([text, true]);
    }),
    { numRuns: 1_000 },
  );
  for (const text of ['{"a":"\\u00', '{"a":"\\', '[1.', '[-', '[1e+'])
    expect([text, isJson(text, true)]).toEqual([text, true]);
  for (const text of ['{"a" "b"', '<a>', 'hello', '[truth', '{"a":"\n', '{"\\x41"'])
    expect(isJson(text, true)).toBe(false);
});

test('the rest of invalid JSON is one error token', () => {
  const [first, second] = jsonLines('[1, 2 oops, 3]').slice(1);
  expect(first?.tokens.at(-1)).toEqual({ kind: 'punctuation', text: ',' });
  expect(second?.tokens).toEqual([
    { kind: 'number', text: '2' },
    { kind: 'error', text: 'oops, 3]' },
  ]);
});

test('lines beyond the limit are counted, and can be asked for', () => {
  const text = JSON.stringify(Array.from({ length: 5_000 }, (_, i) => ({ i })));
  const lines = jsonLines(text);
  expect([lines.length, lines.at(-1)]).toEqual([2_001, { indent: 0, tokens: [], path: '$', more: 13_002 }]);
  expect(lines[0]).toMatchObject({ close: 15_001, members: 5_000 });
  const rest = jsonLines(text, { from: 14_999 });
  expect(shown(rest)).toEqual(['  "i":4999', ' }', ']']);
  expect(rest[0]?.path).toBe('$[4999].i');
  expect([...lines.slice(0, -1), ...jsonLines(text, { from: 2_000, lines: 20_000 })]).toEqual(
    jsonLines(text, { lines: 20_000 }),
  );
});

test('deep nesting ends in an error token, without recursion', () => {
  const text = '['.repeat(1_000_000);
  const lines = jsonLines(text);
  expect([lines.length, joined(lines).length]).toEqual([201, text.length]);
  expect([isJson(text), lines.at(-1)?.tokens[0]?.kind]).toEqual([true, 'error']);
  const objects = '{"a":'.repeat(200_000);
  expect(jsonLines(objects)).toHaveLength(201);
});

test('time grows with the text, not with its square', () => {
  const shapes = [
    (n: number) => '[1,'.repeat(n),
    (n: number) => `"${'\\u0041'.repeat(n)}`,
    (n: number) => '1'.repeat(n * 3),
    (n: number) => ' '.repeat(n * 3),
    (n: number) => `[${'{"a":1},'.repeat(n)}`,
    (n: number) => `[${'"\\'.repeat(n)}`,
  ];
  const timeOf = (text: string): number => {
    const start = performance.now();
    jsonLines(text, { depth: Infinity });
    return performance.now() - start;
  };
  for (const shape of shapes) {
    timeOf(shape(10_000));
    const [small, large] = [shape(10_000), shape(320_000)].map((text) =>
      Math.min(timeOf(text), timeOf(text), timeOf(text)),
    );
    // A square would be 1,024 times as long.
    expect((large ?? 0) / Math.max(small ?? 0, 0.2)).toBeLessThan(300);
  }
});

test('strings and paths are read on demand', () => {
  expect(jsonString({ kind: 'string', text: '"\\u0041\\n"' })).toBe('A\n');
  expect(jsonString({ kind: 'error', text: '"\\' })).toBe('"\\');
  expect(['$.a.b[0]', '$["c d"]', '$', '$[12]', `$${'.a'.repeat(11)}`].map(isFilterPath)).toEqual([
    true,
    false,
    false,
    true,
    false,
  ]);
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

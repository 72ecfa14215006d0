import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { xmlLines, type XmlLine } from '../../../src/page/content/xml.ts';

function shown(lines: XmlLine[]): string[] {
  return lines.map(({ indent, tokens }) => ' '.repeat(indent) + tokens.map(({ text }) => text).join(''));
}

test('elements are indented, text alone stays beside its tags', () => {
  const text =
    '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "y>">]><a xmlns:b="u" c=\'1 > "0"\'>\n  <b:c>it&amp;&x;</b:c><e/>' +
    '<!-- <no> --><d><![CDATA[<raw>]]></d><m>some <i>mixed</i> text</m><n></n></a>\n';
  expect(shown(xmlLines(text))).toEqual([
    '<?xml version="1.0"?>',
    '<!DOCTYPE a [<!ENTITY x "y>">]>',
    '<a xmlns:b="u" c=\'1 > "0"\'>',
    ' <b:c>it&amp;&x;</b:c>',
    ' <e/>',
    ' <!-- <no> -->',
    ' <d><![CDATA[<raw>]]></d>',
    ' <m>',
    '  some',
    '  <i>mixed</i>',
    '  text',
    ' </m>',
    ' <n></n>',
    '</a>',
  ]);
  expect(xmlLines(text)[2]?.tokens).toEqual([
    { kind: 'tag', text: '<a' },
    { kind: 'attribute', text: ' xmlns:b=' },
    { kind: 'value', text: '"u"' },
    { kind: 'attribute', text: ' c=' },
    { kind: 'value', text: '\'1 > "0"\'' },
    { kind: 'tag', text: '>' },
  ]);
});

test.each(['<a><b></a></b>', '<a>', 'text <a/>', '<a', '<a b="></a>', '<!-- x', '<a><1/></a>', '<br>\n<p>', '</a>'])(
  '%j, which is not well-formed, is shown as it is',
  (text) => {
    expect(shown(xmlLines(text))).toEqual(text.split('\n'));
  },
);

test('text that was cut is indented up to its end', () => {
  expect(shown(xmlLines('<a><b>1</b><c>tex', { cut: true }))).toEqual(['<a>', ' <b>1</b>', ' <c>', '  tex']);
  expect(shown(xmlLines('<a><b at="x', { cut: true }))).toEqual(['<a>', ' <b at="x']);
});

test('lines beyond the limit are counted, and can be asked for', () => {
  const text = `<a>${'<b>1</b>'.repeat(5_000)}</a>`;
  const lines = xmlLines(text);
  expect([lines.length, lines.at(-1)]).toEqual([2_001, { indent: 0, tokens: [], more: 3_002 }]);
  expect(shown(xmlLines(text, { from: 5_000 }))).toEqual([' <b>1</b>', '</a>']);
  expect(xmlLines('<'.repeat(10_000)).at(-1)?.more).toBeUndefined();
  expect(xmlLines('x\n'.repeat(10_000)).at(-1)?.more).toBe(8_000);
});

test('the pieces of a line are bounded', () => {
  const attributes = xmlLines(`<a${' b="c"'.repeat(5_000)}/>`);
  expect([attributes.length, (attributes[0]?.tokens.length ?? 0) < 410]).toEqual([1, true]);
  const text = xmlLines(`<a>${'<![CDATA[x]]>'.repeat(1_000)}</a>`);
  expect(Math.max(...text.map(({ tokens }) => tokens.length))).toBeLessThanOrEqual(202);
});

test('nothing but space is lost', () => {
  const parts = fc.constantFrom(
    '<a>',
    '</a>',
    '<b c="d">',
    '</b>',
    '<e/>',
    'text',
    ' ',
    '\n',
    '<!--x-->',
    '<![CDATA[]]>',
    '<',
    '"',
    '>',
  );
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 30 }), fc.boolean(), (all, cut) => {
      const text = all.join('');
      const joined = xmlLines(text, { cut }).flatMap(({ tokens }) => tokens.map((token) => token.text));
      expect(joined.join('').replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
    }),
    { numRuns: 2_000 },
  );
});

test('time grows with the text, not with its square', () => {
  const shapes = [
    (n: number) => '<a>'.repeat(n),
    (n: number) => `<${'a'.repeat(n * 3)}>`,
    (n: number) => `<a${' '.repeat(n * 3)}>`,
    (n: number) => `<a${' b='.repeat(n)}>`,
    (n: number) => `<a${' b'.repeat(n)}/>`,
    (n: number) => `<a ${`'x y="' `.repeat(n)}/>`,
    (n: number) => '<!--'.repeat(n),
    (n: number) => '<a b="'.repeat(n),
    (n: number) => `<!DOCTYPE ${'['.repeat(n)}`,
    (n: number) => `<a>${'<![CDATA[]]>'.repeat(n)}</a>`,
  ];
  const timeOf = (text: string): number => {
    const start = performance.now();
    xmlLines(text);
    xmlLines(text, { cut: true });
    return performance.now() - start;
  };
  for (const shape of shapes) {
    timeOf(shape(5_000));
    const [small, large] = [shape(5_000), shape(160_000)].map((text) =>
      Math.min(timeOf(text), timeOf(text), timeOf(text)),
    );
    // A square would be 1,024 times as long.
    expect([String(shape), (large ?? 0) / Math.max(small ?? 0, 0.2) < 300]).toEqual([String(shape), true]);
  }
});

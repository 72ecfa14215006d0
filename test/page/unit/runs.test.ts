import { expect, test } from 'vitest';
import { foldRuns } from '../../../src/page/content/runs.ts';
import type { DiffLine } from '../../../src/page/content/diff-body.ts';

/** `s` = the same in both. */
const lines = (kinds: string): DiffLine[] =>
  kinds.split('').map((kind, i) => ({ kind: kind === 's' ? 'same' : (kind as 'a' | 'b'), text: `line ${i}` }));

const shape = (kinds: string): string[] =>
  foldRuns(lines(kinds)).map(({ folded, lines }) => `${folded ? 'folded ' : ''}${lines.length}`);

test('what is the same is folded, but for three lines beside a difference', () => {
  expect(shape(`${'s'.repeat(10)}ab${'s'.repeat(20)}b${'s'.repeat(10)}`)).toEqual([
    'folded 7',
    '3',
    '2',
    '3',
    'folded 14',
    '3',
    '1',
    '3',
    'folded 7',
  ]);
});

test('short runs are shown', () => {
  expect(shape('sssssabssssssssbsssss')).toEqual(['5', '2', '8', '1', '5']);
  expect(shape('')).toEqual([]);
});

test('no line is lost', () => {
  const given = lines(`a${'s'.repeat(50)}b${'s'.repeat(4)}a`);
  expect(foldRuns(given).flatMap((run) => run.lines)).toEqual(given);
});

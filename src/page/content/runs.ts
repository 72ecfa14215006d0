import type { DiffLine } from './diff-body.ts';

/** Lines one after another; those that are the same in both are folded, but for a few beside a difference. */
export interface Run {
  folded: boolean;
  lines: DiffLine[];
}

const CONTEXT_LINES = 3;

/** Fewer are shown: a fold is a line, too. */
const MIN_FOLDED = 3;

export function foldRuns(lines: readonly DiffLine[]): Run[] {
  const runs: Run[] = [];
  for (let start = 0; start < lines.length;) {
    const end = endOfRun(lines, start);
    const run = lines.slice(start, end);
    if (run[0]?.kind === 'same') addSame(runs, run, start === 0, end === lines.length);
    else add(runs, run, false);
    start = end;
  }
  return runs;
}

/** @param isFirst whether no difference stands before them */
function addSame(runs: Run[], run: DiffLine[], isFirst: boolean, isLast: boolean): void {
  const before = isFirst ? 0 : CONTEXT_LINES;
  const after = isLast ? 0 : CONTEXT_LINES;
  if (run.length < before + after + MIN_FOLDED) return add(runs, run, false);
  add(runs, run.slice(0, before), false);
  add(runs, run.slice(before, run.length - after), true);
  add(runs, run.slice(run.length - after), false);
}

function add(runs: Run[], lines: DiffLine[], folded: boolean): void {
  if (lines.length > 0) runs.push({ folded, lines });
}

function endOfRun(lines: readonly DiffLine[], start: number): number {
  const isSame = lines[start]?.kind === 'same';
  let end = start + 1;
  while (end < lines.length && (lines[end]?.kind === 'same') === isSame) end += 1;
  return end;
}

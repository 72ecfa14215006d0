import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import type { BodyDifference, DiffLine } from '../../content/diff-body.ts';
import { countOf } from '../../content/count.ts';
import { foldRuns, type Run } from '../../content/runs.ts';
import { el } from '../../el.ts';
import { Visible } from '../visible.ts';

/** A line of minified text could be a megabyte long. */
const MAX_LINE = 2_000;

/** The lines of two bodies; runs of the same lines are folded. */
export function BodyDifferenceView({ body }: { body: BodyDifference }): ComponentChild {
  const { lines, pretty, more, note } = body;
  return el(
    'section',
    null,
    el('h3', null, 'Body'),
    note !== undefined && el('p', { class: 'compare-note' }, note),
    pretty && el('p', { class: 'compare-note' }, 'Both are JSON, compared by member.'),
    lines !== undefined &&
      el(
        'div',
        { class: 'diff-lines' },
        foldRuns(lines).map((run, i) => h(RunView, { run, key: i })),
      ),
    more > 0 && el('p', { class: 'compare-note' }, `${countOf(more, 'more line')} not shown.`),
  );
}

function RunView({ run }: { run: Run }): ComponentChild {
  const [isOpen, setOpen] = useState(!run.folded);
  if (isOpen) return run.lines.map(lineView);
  return el(
    'button',
    { type: 'button', class: 'diff-fold', 'aria-expanded': 'false', onClick: () => setOpen(true) },
    countOf(run.lines.length, 'unchanged line'),
  );
}

const KINDS = { same: [' ', 'same'], a: ['−', 'removed'], b: ['+', 'added'] } as const;

function lineView({ kind, text }: DiffLine, i: number): ComponentChild {
  const [sign, name] = KINDS[kind];
  const shown = text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text;
  return el(
    kind === 'a' ? 'del' : kind === 'b' ? 'ins' : 'div',
    { class: `diff-line ${name}`, key: i },
    el('span', { class: 'sign' }, sign),
    h(Visible, { text: shown, multiline: true }),
  );
}

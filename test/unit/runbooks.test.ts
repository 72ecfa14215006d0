import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REFUSAL_REASONS } from '../../src/api/capture/refusals.ts';
import { CLOSE } from '../../src/domain/live-event.ts';

const [liveEvents, operations] = ['src/api/live/README.md', 'src/ops/README.md'].map((page) =>
  readFileSync(page, 'utf8'),
) as [string, string];

/** First cells of the table under a heading of the page for operators, without that of the head. */
function namesUnder(heading: string): string[] {
  const [, section = ''] = new RegExp(`^## ${heading}\n([^]*?)^## `, 'm').exec(operations) ?? [];
  const [, ...names] = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name as string);
  return names.toSorted();
}

test('each reason for a 503 is there, with what to do', () => {
  expect(namesUnder('Senders get 503')).toEqual(REFUSAL_REASONS.toSorted());
});

test('each reason for a closed socket is there, and clients are told each close code', () => {
  expect(namesUnder('Sockets are closed')).toEqual([...Object.keys(CLOSE), 'client'].toSorted());
  for (const { code } of Object.values(CLOSE)) expect(liveEvents).toMatch(new RegExp(`\\b${code} \\w`));
});

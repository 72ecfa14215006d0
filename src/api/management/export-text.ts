import type { ExportFormat } from '../../domain/export/format.ts';
import { createTurns } from '../../turns.ts';
import type { Step } from './export-entries.ts';

/** Characters that are sent at once. */
const CHUNK_LENGTH = 64 * 1024;

export interface ExportRange {
  after: number;
  upTo: number;
  /** Asked after each entry; a file that ends early says so. */
  mayGoOn: () => boolean;
}

/** The file of an export, in chunks, with the end that tells whether there is more. */
export async function* exportText(
  format: ExportFormat,
  steps: AsyncIterable<Step>,
  range: ExportRange,
): AsyncGenerator<string> {
  const turn = createTurns();
  let chunk = '';
  for await (const piece of piecesOf(format, steps, range)) {
    await turn();
    chunk += piece;
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

async function* piecesOf(
  format: ExportFormat,
  steps: AsyncIterable<Step>,
  { after, upTo, mayGoOn }: ExportRange,
): AsyncGenerator<string> {
  const end = { count: 0, next: after, more: false };
  let length = 0;
  yield format.start;
  for await (const { seq, request } of steps) {
    if (request !== undefined) {
      if (end.count > 0 && length + request.size > format.maxBytes) break;
      if (end.count > 0) yield format.separator;
      for (const piece of format.entry(request)) {
        length += piece.length;
        yield piece;
      }
      end.count += 1;
    }
    end.next = seq;
    if (end.count >= format.maxEntries || !mayGoOn()) break;
  }
  yield format.end({ ...end, more: end.next < upTo });
}

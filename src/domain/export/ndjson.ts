import type { StoredRequest } from '../captured-request.ts';
import { logEntryJson } from '../log-entry.ts';
import type { ExportEnd } from './export-end.ts';

/* One entry a line, complete: the format for programs and backups. */

export function* ndjsonLine(request: StoredRequest): Generator<string> {
  yield* logEntryJson(request, true);
  yield '\n';
}

/** The last line: without it the file is not whole. */
export function ndjsonEnd({ count, next, more }: ExportEnd): string {
  return `${JSON.stringify({ end: true, count, next, more })}\n`;
}

import type { StoredRequest } from '../captured-request.ts';
import { CSV_START, csvEnd, csvRow } from './csv.ts';
import type { ExportEnd } from './export-end.ts';
import { HAR_START, harEnd, harEntry } from './har.ts';
import { ndjsonEnd, ndjsonLine } from './ndjson.ts';

/** A file of many entries. What `end` returns is in the file only if everything before it is. */
export interface ExportFormat {
  mediaType: string;
  maxEntries: number;
  /** Approximate: an entry that begins below the limit is complete. */
  maxBytes: number;
  start: string;
  entry(request: StoredRequest): Iterable<string>;
  /** Between two entries. */
  separator: string;
  end(end: ExportEnd): string;
}

export const FORMATS = ['ndjson', 'har', 'csv'] as const;
export type FormatName = (typeof FORMATS)[number];

const MAX_ENTRIES = 100_000;
const MAX_BYTES = 2 * 1024 ** 3;

/** Programs read a HAR as a whole. */
const HAR_MAX_ENTRIES = 10_000;
const HAR_MAX_BYTES = 64 * 1024 ** 2;

const NDJSON: ExportFormat = {
  mediaType: 'application/x-ndjson',
  maxEntries: MAX_ENTRIES,
  maxBytes: MAX_BYTES,
  start: '',
  entry: ndjsonLine,
  separator: '',
  end: ndjsonEnd,
};

const CSV: ExportFormat = {
  ...NDJSON,
  mediaType: 'text/csv; charset=utf-8',
  start: CSV_START,
  entry: csvRow,
  end: csvEnd,
};

/** @param baseUrl to which targets are appended */
export function formatOf(name: FormatName, baseUrl: string): ExportFormat {
  if (name === 'ndjson') return NDJSON;
  if (name === 'csv') return CSV;
  return {
    mediaType: 'application/json',
    maxEntries: HAR_MAX_ENTRIES,
    maxBytes: HAR_MAX_BYTES,
    start: HAR_START,
    entry: (request) => harEntry(request, baseUrl),
    separator: ',\n',
    end: harEnd,
  };
}

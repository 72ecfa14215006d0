import type { StoredRequest } from '../captured-request.ts';

/** How an export ended: the stored `seq` up to which it is complete, and whether there is more behind it. */
export interface ExportEnd {
  count: number;
  next: number;
  more: boolean;
}

/** A file of many entries. What `end` returns is in the file only if everything before it is. */
export interface ExportFormat {
  mediaType: string;
  extension: string;
  maxEntries: number;
  maxBytes: number;
  start: string;
  /** @param first whether it is the first entry of the file */
  entry(request: StoredRequest, first: boolean): Iterable<string>;
  end(end: ExportEnd): string;
}

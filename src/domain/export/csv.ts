import { bodyPieces } from '../body-pieces.ts';
import type { StoredRequest } from '../captured-request.ts';
import { headerLines } from '../header-lines.ts';
import { presentRequest, splitTarget } from '../log-entry.ts';
import type { ExportEnd } from './export-end.ts';

/* CSV (RFC 4180) for spreadsheets: UTF-8 with a byte order mark, and every cell in quotes. */

const COLUMNS = [
  'seq',
  'id',
  'created_at',
  'method',
  'path',
  'query',
  'ip',
  'content_type',
  'size',
  'headers',
  'body_encoding',
  'body',
] as const;

/** Where a spreadsheet sees the start of a cell; behind `;` and others if it separates cells by these, not by `,`. */
const FORMULA = /(^|[;\t\r\n])([" ]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;
const CELL_START = /[;\t\r\n][" ]*$/;

export const CSV_START = `\ufeff${row([...COLUMNS])}`;

export function* csvRow(request: StoredRequest): Generator<string> {
  const { created_at, content_type, body_encoding } = presentRequest({ ...request, body: Buffer.alloc(0) });
  const { seq, id, method, target, ip, size, rawHeaders, body } = request;
  const { path, query } = splitTarget(target);
  const headers = headerLines(rawHeaders, '\n');
  const cells = [String(seq), id, created_at, method, path, query, ip, content_type, String(size), headers];
  yield `${[...cells, body_encoding].map(cell).join(',')},"`;
  const escape = cellEscape();
  for (const piece of bodyPieces(body, body_encoding)) yield escape(piece);
  yield '"\r\n';
}

/** The last row: without it the file is not whole. */
export function csvEnd({ count, next, more }: ExportEnd): string {
  const cells = ['end', `count=${count}`, `next=${next}`, `more=${more}`];
  return row([...cells, ...Array<string>(COLUMNS.length - cells.length).fill('')]);
}

function row(cells: string[]): string {
  return `${cells.map(cell).join(',')}\r\n`;
}

function cell(text: string): string {
  return `"${cellEscape()(text)}"`;
}

/**
 * Returns a function that escapes one cell, given in pieces. Quotes are doubled, and a `'` stops what would begin a
 * formula. The pieces are short, because the search for a start looks at spaces again.
 */
export function cellEscape(): (piece: string) => string {
  let atStart = true;
  let first = true;
  return (piece) => {
    const guarded = guard(piece, atStart, first);
    // Spaces and quotes alone leave the position as it is.
    if (!/^[" ]*$/.test(piece)) atStart = CELL_START.test(piece);
    if (piece !== '') first = false;
    return guarded.replaceAll('"', '""');
  };
}

function guard(piece: string, atStart: boolean, first: boolean): string {
  // `^` is the start of the piece: behind the middle of a cell it begins nothing.
  const text = piece.replace(FORMULA, (found: string, before: string) =>
    before === '' && !atStart ? found : `${found}'`,
  );
  return first && /^[\t\r\n]/.test(text) ? `'${text}` : text;
}

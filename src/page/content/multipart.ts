import { latin1Bytes, latin1Text, type Bytes } from './bytes.ts';
import { partHeader, partHeaders, type PartHeader } from './part-headers.ts';

/** A part of a multipart body (RFC 2046, section 5.1; RFC 7578). */
export interface Part {
  headers: PartHeader[];
  name?: string;
  filename?: string;
  contentType?: string;
  bytes: Bytes;
  /** The body ends before the part does. */
  unfinished?: true;
}

export const MAX_PARTS = 200;

const MAX_HEADER_BYTES = 16 * 1024;

interface Delimiter {
  /** Where the line break before it begins, which is a part of it. */
  start: number;
  /** Behind its line. */
  end: number;
  isLast: boolean;
}

/** At most `max` parts; lines may end in LF alone, and the closing delimiter may be missing. */
export function multipartParts(bytes: Bytes, boundary: string, max = MAX_PARTS): Part[] {
  // A search in a text costs a fraction of going through the bytes line by line. It has a unit for each byte.
  const decoder = new TextDecoder('latin1');
  const text = decoder.decode(bytes);
  const mark = decoder.decode(new TextEncoder().encode(`--${boundary}`));
  const nextDelimiter = (from: number): Delimiter | undefined => findDelimiter(text, mark, from);
  const parts: Part[] = [];
  let open = nextDelimiter(0);
  while (open !== undefined && !open.isLast && parts.length < max) {
    const close = nextDelimiter(open.end);
    parts.push({
      ...partOf(bytes.subarray(open.end, close?.start)),
      ...(close === undefined && { unfinished: true as const }),
    });
    open = close;
  }
  return parts;
}

/** @param from where a line begins */
function findDelimiter(text: string, mark: string, from: number): Delimiter | undefined {
  for (let at = text.startsWith(mark, from) ? from : lineWith(text, mark, from); at !== -1;) {
    const delimiter = delimiterAt(text, mark, at, from);
    if (delimiter !== undefined) return delimiter;
    at = lineWith(text, mark, at);
  }
  return undefined;
}

/** Where the next line begins that begins like this, or -1. */
function lineWith(text: string, mark: string, from: number): number {
  return text.indexOf(`\n${mark}`, from) + 1 || -1;
}

function delimiterAt(text: string, mark: string, at: number, from: number): Delimiter | undefined {
  let end = at + mark.length;
  const isLast = text.startsWith('--', end);
  if (isLast) end += 2;
  while (text[end] === ' ' || text[end] === '\t') end += 1;
  if (text.startsWith('\r\n', end)) end += 1;
  if (text[end] !== '\n' && end < text.length) return undefined;
  let start = at;
  if (start > from && text[start - 1] === '\n') start -= 1;
  if (start > from && start < at && text[start - 1] === '\r') start -= 1;
  return { start, end: Math.min(end + 1, text.length), isLast };
}

function partOf(bytes: Bytes): Part {
  const head = latin1Text(bytes.subarray(0, MAX_HEADER_BYTES));
  const blank = /^\r?\n|\r?\n\r?\n/.exec(head);
  // Without a blank line all is header, as in a part that was cut.
  const headEnd = blank === null ? head.length : blank.index;
  const headers = partHeaders(latin1Bytes(head.slice(0, headEnd)));
  const disposition = partHeader(headers, 'content-disposition');
  const contentType = partHeader(headers, 'content-type')?.value;
  const name = disposition?.parameters['name'];
  const filename = disposition?.parameters['filename'];
  return {
    headers,
    ...(name !== undefined && { name }),
    ...(filename !== undefined && { filename }),
    ...(contentType !== undefined && { contentType }),
    bytes: bytes.subarray(blank === null ? bytes.length : headEnd + blank[0].length),
  };
}

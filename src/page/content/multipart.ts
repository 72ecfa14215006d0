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

const DASH = 0x2d;
const CR = 0x0d;
const LF = 0x0a;

interface Delimiter {
  /** Where the line break before it begins, which is a part of it. */
  start: number;
  /** Behind its line. */
  end: number;
  isLast: boolean;
}

/** At most `max` parts; lines may end in LF alone, and the closing delimiter may be missing. */
export function multipartParts(bytes: Bytes, boundary: string, max = MAX_PARTS): Part[] {
  const mark = new TextEncoder().encode(`--${boundary}`);
  const parts: Part[] = [];
  let open = nextDelimiter(bytes, mark, 0);
  while (open !== undefined && !open.isLast && parts.length < max) {
    const close = nextDelimiter(bytes, mark, open.end);
    parts.push({
      ...partOf(bytes.subarray(open.end, close?.start)),
      ...(close === undefined && { unfinished: true as const }),
    });
    open = close;
  }
  return parts;
}

function nextDelimiter(bytes: Bytes, mark: Bytes, from: number): Delimiter | undefined {
  // A delimiter begins a line.
  for (let at = from; at !== -1 && at < bytes.length; at = lineAfter(bytes, at)) {
    const delimiter = delimiterAt(bytes, mark, at, from);
    if (delimiter !== undefined) return delimiter;
  }
  return undefined;
}

function delimiterAt(bytes: Bytes, mark: Bytes, at: number, from: number): Delimiter | undefined {
  if (bytes[at] !== DASH || !mark.every((byte, i) => bytes[at + i] === byte)) return undefined;
  let end = at + mark.length;
  const isLast = bytes[end] === DASH && bytes[end + 1] === DASH;
  if (isLast) end += 2;
  while (bytes[end] === 0x20 || bytes[end] === 0x09) end += 1;
  if (bytes[end] === CR && bytes[end + 1] === LF) end += 1;
  if (bytes[end] !== LF && end < bytes.length) return undefined;
  let start = at;
  if (start > from && bytes[start - 1] === LF) start -= 1;
  if (start > from && start < at && bytes[start - 1] === CR) start -= 1;
  return { start, end: Math.min(end + 1, bytes.length), isLast };
}

/** Where the next line begins, or -1. */
function lineAfter(bytes: Bytes, at: number): number {
  const feed = bytes.indexOf(LF, at);
  return feed === -1 ? -1 : feed + 1;
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

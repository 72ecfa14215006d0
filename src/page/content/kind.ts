import { decodeText, latin1Text } from './bytes.ts';
import { isJson } from './json.ts';
import { ndjsonRecords } from './ndjson.ts';
import { claimOf, noteOf, type ImageType, type Kind } from './media-type.ts';
import { parametersOf } from './part-headers.ts';

export interface BodyKind {
  kind: Kind;
  /** Of a body that is valid UTF-8, except multipart. */
  text?: string;
  /** Of an image. */
  mediaType?: ImageType;
  /** Where the sender said something else. */
  note?: string;
  /** Of a multipart body. */
  boundary?: string;
}

const IMAGES: [type: ImageType, start: RegExp][] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
  ['image/avif', /^[^]{4}ftypavi[fs]/],
];

const START_BYTES = 512;

/** The first line of a multipart body and the header below it. */
const MULTIPART_START = /^(?:\r?\n)?--([^\r\n]{1,70}?)[ \t]*\r?\nContent-[\w-]+:/i;
const BOUNDARY = /^[ -~]{1,70}$/;

const XML_START = /^\s*<(?:\?xml\s|!DOCTYPE\s|!--|[A-Za-z_][\w.:-]*(?:\s|\/?>))/i;

/** Names and values as browsers encode them, two or more. */
const FORM = /^[\w.~*+%[\]-]+=[\w.~*+%-]*(?:&[\w.~*+%[\]-]+=[\w.~*+%-]*)+$/;
/** Longer text is judged by its beginning, as if it were cut. */
const MAX_CHARACTERS = 1024 * 1024;
const MAX_FORM_CHARACTERS = 64 * 1024;

/** How much of a long body decides whether it is text, and how many records whether it is NDJSON. */
const SAMPLE_CHARACTERS = 1024;
const SAMPLE_RECORDS = 20;

/**
 * What a body is, by its bytes first and by its content type second.
 * @param cut whether the end of the body is missing
 */
export function kindOf(bytes: Uint8Array, contentType: string, cut = false): BodyKind {
  if (bytes.length === 0) return { kind: 'empty' };
  const found = findKind(bytes, contentType, cut);
  const note = noteOf(contentType, found.kind, found.mediaType);
  return note === undefined ? found : { ...found, note };
}

function findKind(bytes: Uint8Array, contentType: string, cut: boolean): BodyKind {
  const start = latin1Text(bytes.subarray(0, START_BYTES));
  const mediaType = IMAGES.find(([, pattern]) => pattern.test(start))?.[0];
  if (mediaType !== undefined) return { kind: 'image', mediaType };
  const boundary = boundaryOf(start, contentType);
  if (boundary !== undefined) return { kind: 'multipart', boundary };
  const text = decodeText(bytes, cut);
  if (text === undefined || !isReadable(text)) return { kind: 'binary', ...(text !== undefined && { text }) };
  const isLong = text.length > MAX_CHARACTERS;
  return { kind: textKind(isLong ? text.slice(0, MAX_CHARACTERS) : text, contentType, cut || isLong), text };
}

/** The content type's, where the body has it near its beginning; otherwise that of the first line. */
function boundaryOf(start: string, contentType: string): string | undefined {
  const sniffed = MULTIPART_START.exec(start)?.[1];
  if (claimOf(contentType) !== 'multipart') return sniffed;
  const stated = parametersOf(contentType)['boundary'];
  return stated !== undefined && BOUNDARY.test(stated) && start.includes(`--${stated}`) ? stated : sniffed;
}

/** Text may have some control characters: they are shown as escapes. */
function isReadable(text: string): boolean {
  const sample = text.slice(0, SAMPLE_CHARACTERS);
  const controls = sample.match(/(?![\t\n\r])\p{Cc}/gu)?.length ?? 0;
  return controls <= sample.length / 3;
}

function textKind(text: string, contentType: string, cut: boolean): Kind {
  const claim = claimOf(contentType);
  const isStructure = /^\ufeff?\s*[[{]/.test(text);
  if (claim === 'ndjson' && isNdjson(text, cut)) return 'ndjson';
  if ((isStructure || claim === 'json') && isJson(text, cut)) return 'json';
  if (isStructure && text.trimEnd().includes('\n') && isNdjson(text, cut)) return 'ndjson';
  if (isXml(text, cut)) return 'xml';
  if (claim === 'form' && text.includes('=')) return 'form';
  if (text.length <= MAX_FORM_CHARACTERS && FORM.test(text)) return 'form';
  return 'text';
}

function isNdjson(text: string, cut: boolean): boolean {
  const records = ndjsonRecords(text, SAMPLE_RECORDS);
  return records.length > 0 && records.every((record, i) => isJson(record.text, cut && i === records.length - 1));
}

function isXml(text: string, cut: boolean): boolean {
  const start = text.slice(0, SAMPLE_CHARACTERS).replace(/^\ufeff/, '');
  return XML_START.test(start) && (cut || text.trimEnd().endsWith('>'));
}

import type { LogEntry } from '../../domain/answers.ts';

/** Bytes that a `Blob` takes. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** Few enough for the arguments of one call. */
const CHUNK_BYTES = 32 * 1024;

/** A byte order mark is part of what was sent. */
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function bodyBytes({ body, body_encoding }: Pick<LogEntry, 'body' | 'body_encoding'>): Bytes {
  return body_encoding === 'utf8' ? new TextEncoder().encode(body) : latin1Bytes(atob(body));
}

/**
 * The text of valid UTF-8.
 * @param cut whether the last character may be incomplete; it is left out then
 */
export function decodeText(bytes: Uint8Array, cut = false): string | undefined {
  try {
    return strict.decode(cut ? wholeCharacters(bytes) : bytes);
  } catch {
    return undefined;
  }
}

export function base64(bytes: Uint8Array): string {
  return btoa(latin1Text(bytes));
}

/** A character for each byte. */
export function latin1Text(bytes: Uint8Array): string {
  const chunks: string[] = [];
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES)
    // Spreading the bytes would take ten times as long.
    chunks.push(String.fromCharCode.apply(null, bytes.subarray(start, start + CHUNK_BYTES) as unknown as number[]));
  return chunks.join('');
}

/** @param text a character for each byte */
export function latin1Bytes(text: string): Bytes {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function wholeCharacters(bytes: Uint8Array): Uint8Array {
  let start = bytes.length - 1;
  while (start > 0 && bytes.length - start < 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  const lead = bytes[start] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return start + length > bytes.length ? bytes.subarray(0, start) : bytes;
}

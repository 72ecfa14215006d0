import type { LogEntry } from '../../domain/answers.ts';
import { decodeText, latin1Bytes } from './bytes.ts';
import { headersOf, targetOf } from './message.ts';

/** The request as text, as in RFC 9112; undefined where its body is no text, or isn't whole. */
export function httpMessage(entry: LogEntry): string | undefined {
  if (entry.body_encoding !== 'utf8' || entry.body_truncated) return undefined;
  const lines = [
    `${entry.method} ${targetOf(entry)} HTTP/1.1`,
    ...headersOf(entry).map(([name, value]) => `${name}: ${value}`),
  ];
  return `${lines.map((line) => `${readable(line)}\r\n`).join('')}\r\n${entry.body}`;
}

/** @param line a character for each byte */
function readable(line: string): string {
  return decodeText(latin1Bytes(line)) ?? line;
}

import { decodeText, latin1Bytes, latin1Text } from './bytes.ts';

export type PartHeader = [name: string, value: string];

interface ParsedHeader {
  value: string;
  /** Lower-case names; one given as `name*` (RFC 8187) counts as `name`. */
  parameters: Record<string, string>;
}

/**
 * `; name=token` or `; name="quoted"`. Browsers write a quote as `%22` and a backslash as it is, others a quote as
 * `\"`: a quote that ends the parameter is not escaped.
 */
const PARAMETER =
  /;[ \t]*([\w!#$&+\-.^`|~]{1,100}\*?)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\"(?![ \t]*(?:;|$))|\\)*)"?|([^\s;"]*))/g;

/** Header lines of a part. Names of files are mostly plain UTF-8 there. */
export function partHeaders(bytes: Uint8Array): PartHeader[] {
  const text = decodeText(bytes) ?? latin1Text(bytes);
  const lines = text.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/);
  return lines.flatMap((line): PartHeader[] => {
    const colon = line.indexOf(':');
    return colon > 0 ? [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()]] : [];
  });
}

/** The first header of this lower-case name. */
export function partHeader(headers: readonly PartHeader[], name: string): ParsedHeader | undefined {
  const value = headers.find(([found]) => found.toLowerCase() === name)?.[1];
  return value === undefined ? undefined : { value, parameters: parametersOf(value) };
}

/** The parameters behind a header's value. */
export function parametersOf(value: string): Record<string, string> {
  const plain = new Map<string, string>();
  const extended = new Map<string, string>();
  for (const [, key = '', quoted, token = ''] of value.matchAll(PARAMETER)) {
    const name = key.toLowerCase();
    const text = quoted === undefined ? token : quoted.replaceAll('\\"', '"');
    if (!name.endsWith('*')) plain.set(name, plain.get(name) ?? text);
    else extended.set(name.slice(0, -1), extendedValue(text));
  }
  return Object.fromEntries([...plain, ...extended]);
}

/** `UTF-8''na%C3%AFve.txt`; with another character set, or encoded wrongly, it stays as sent. */
function extendedValue(text: string): string {
  const [, charset = '', encoded = ''] = /^([\w-]*)'[\w-]*'(.*)$/.exec(text) ?? [];
  const bytes = encoded.replaceAll(/%([\dA-Fa-f]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  if (/^iso-8859-1$/i.test(charset)) return bytes;
  return (/^utf-8$/i.test(charset) ? decodeText(latin1Bytes(bytes)) : undefined) ?? text;
}

export type FormField = [name: string, value: string];

export const MAX_FIELDS = 1_000;

/** The fields of an `application/x-www-form-urlencoded` text, in order. What is no valid encoding stays as sent. */
export function formFields(text: string, max = MAX_FIELDS): FormField[] {
  const fields: FormField[] = [];
  for (let start = 0; start < text.length && fields.length < max;) {
    const next = text.indexOf('&', start);
    const end = next === -1 ? text.length : next;
    if (end > start) fields.push(fieldOf(text.slice(start, end)));
    start = end + 1;
  }
  return fields;
}

function fieldOf(pair: string): FormField {
  const equals = pair.indexOf('=');
  return equals === -1 ? [decode(pair), ''] : [decode(pair.slice(0, equals)), decode(pair.slice(equals + 1))];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/**
 * Strings at places like `type` or `event.type` of an object, as far as its text can be read: it may be cut, or no JSON
 * at all. Nothing is parsed, so it is quick enough for each row of a live list.
 */
export function jsonStrings(text: string, places: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  if (!/^\s*\{/.test(text)) return found;
  /** For each level its current name; undefined in an array. */
  const names: (string | undefined)[] = [];
  let isName = false;
  for (let i = 0; i < text.length && found.size < places.length; i += 1) {
    const character = text[i];
    if (character === '{' || character === '[') names.push(character === '{' ? '' : undefined);
    else if (character === '}' || character === ']') names.pop();
    if (character === '{' || character === ',') isName = names.at(-1) !== undefined;
    else if (character === ':' || character === '[') isName = false;
    else if (character === '"') {
      const end = closingQuote(text, i);
      if (end === -1) break;
      if (names.length > 0 && names.length <= 2) readString(text.slice(i, end + 1));
      i = end;
    }
  }
  return found;

  function readString(source: string): void {
    if (isName) names[names.length - 1] = source.slice(1, -1);
    else {
      const place = names.join('.');
      if (names.at(-1) !== undefined && places.includes(place) && !found.has(place)) found.set(place, unquoted(source));
    }
  }
}

function closingQuote(text: string, start: number): number {
  for (let i = text.indexOf('"', start + 1); i !== -1; i = text.indexOf('"', i + 1)) {
    let slashes = 0;
    while (text[i - slashes - 1] === '\\') slashes += 1;
    if (slashes % 2 === 0) return i;
  }
  return -1;
}

function unquoted(source: string): string {
  try {
    return String(JSON.parse(source));
  } catch {
    return source.slice(1, -1);
  }
}

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

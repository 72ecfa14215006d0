/** An error that the user can fix; its message is printed without a stack. */
export class ListenError extends Error {}

/**
 * Text with every control character, escape sequence, bidirectional override and other invisible character as
 * `\uXXXX`: senders choose it, and a terminal obeys it. JSON stays the same JSON.
 */
export function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    [...Array(character.length).keys()]
      .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

export function brief(text: string, most = 200): string {
  return printable(text.length > most ? `${text.slice(0, most)}…` : text);
}

/** The first line of what an error says, or of the cause that `fetch` hides behind "fetch failed". */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return brief(String(error));
  const cause = error.cause instanceof Error ? error.cause : error;
  const [line = ''] = cause.message.split('\n');
  // Where all addresses of a name failed, there is only a code.
  return brief(line || ('code' in cause ? String(cause.code) : cause.name));
}

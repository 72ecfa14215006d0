/* Words of bash. Nothing but printable ASCII is in them: other bytes could act on the terminal they are pasted into. */

/** One word that is `text`, whose characters are bytes. It can't hold NUL. */
export function bashWord(text: string): string {
  // Next to quotes, old versions read `!` as history.
  const isPlain = /^[ -~]*$/.test(text) && !(text.includes("'") && text.includes('!'));
  if (isPlain) return `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return `$'${text.replaceAll(/[^ -~]|['\\!]/g, escapeByte)}'`;
}

function escapeByte(byte: string): string {
  return `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

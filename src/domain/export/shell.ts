/* Words of a POSIX shell. Nothing but printable ASCII is in them: other bytes could act on a terminal. */

const OTHERS = /[^A-Za-z0-9 "#$&()*+,\-./:;<=>?@[\]^_`{|}~]/g;
const OTHERS_IN_SUBSTITUTION = /[^A-Za-z0-9 ,./:=_]/g;

/** One word that is `text`, whose characters are bytes (Latin-1). */
export function word(text: string): string {
  return /^[ -~]*$/.test(text) ? quote(text) : `"$(printf '${escaped(text, OTHERS_IN_SUBSTITUTION)}')"`;
}

/** @param text printable ASCII */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A format of `printf` that prints these bytes, to be put between single quotes. */
export function printfFormat(bytes: Buffer): string {
  return escaped(bytes.toString('latin1'), OTHERS);
}

/** A `-` at the start would be an option; `!` is history in some shells, even between quotes. */
function escaped(latin1: string, others: RegExp): string {
  return latin1.replaceAll(others, escapeByte).replace(/^-/, '\\055');
}

function escapeByte(byte: string): string {
  if (byte === '\n') return '\\n';
  if (byte === '%') return '%%';
  return `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`;
}

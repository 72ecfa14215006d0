/** Bytes of a body that are converted at once; a multiple of three, so that Base64 has no padding between pieces. */
export const PIECE_BYTES = 48 * 1024;

export type BodyEncoding = 'utf8' | 'base64';

/** The text of a body in pieces: one text of a large body would block the event loop. */
export function* bodyPieces(body: Buffer, encoding: BodyEncoding): Generator<string> {
  for (let start = 0; start < body.length;) {
    const end = pieceEnd(body, start, encoding);
    yield body.toString(encoding, start, end);
    start = end;
  }
}

/** The end of a piece, never within a character. */
function pieceEnd(body: Buffer, start: number, encoding: BodyEncoding): number {
  let end = Math.min(start + PIECE_BYTES, body.length);
  while (encoding === 'utf8' && end < body.length && ((body[end] as number) & 0xc0) === 0x80) end -= 1;
  return end;
}

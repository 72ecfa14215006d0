export interface HexRow {
  /** Eight hex digits. */
  offset: string;
  /** Two digits for each byte, at most 16. */
  hex: string[];
  /** A point for what is not printable. */
  ascii: string;
}

const ROW_BYTES = 16;

/** At most `count` rows, from row `from`. */
export function hexRows(bytes: Uint8Array, from: number, count: number): HexRow[] {
  const rows: HexRow[] = [];
  for (let start = from * ROW_BYTES; start < bytes.length && rows.length < count; start += ROW_BYTES) {
    const row = [...bytes.subarray(start, start + ROW_BYTES)];
    rows.push({
      offset: digits(start, 8),
      hex: row.map((byte) => digits(byte, 2)),
      ascii: row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join(''),
    });
  }
  return rows;
}

export function hexRowCount(bytes: Uint8Array): number {
  return Math.ceil(bytes.length / ROW_BYTES);
}

function digits(value: number, length: number): string {
  return value.toString(16).padStart(length, '0');
}

export interface NdjsonRecord {
  text: string;
  /** From 1. */
  line: number;
}

export const MAX_RECORDS = 1_000;

/** The records of NDJSON: lines that are not blank. */
export function ndjsonRecords(text: string, max = MAX_RECORDS): NdjsonRecord[] {
  const records: NdjsonRecord[] = [];
  let line = 1;
  for (let start = 0; start < text.length && records.length < max; line += 1) {
    const next = text.indexOf('\n', start);
    const end = next === -1 ? text.length : next;
    const record = text.slice(start, end).trim();
    if (record !== '') records.push({ text: record, line });
    start = end + 1;
  }
  return records;
}

export type ExportFormat = 'ndjson' | 'har' | 'csv';

/** What an export says of itself at its end: without that it is not whole. */
export interface ExportEnd {
  count: number;
  /** Where the next export goes on (`after`). */
  next: number;
  /** Whether there was more when it ended. */
  more: boolean;
}

/** As many characters as hold the end of any format. */
export const END_CHARACTERS = 1_024;

const ENDS: Record<ExportFormat, RegExp> = {
  ndjson: /(?:^|\n)\{"end":true,"count":(?<count>\d+),"next":(?<next>\d+),"more":(?<more>true|false)\}\n$/,
  har: /\n\],"comment":"[^"]*","_count":(?<count>\d+),"_next":(?<next>\d+),"_more":(?<more>true|false)\}\}\n$/,
  csv: /\n"end","count=(?<count>\d+)","next=(?<next>\d+)","more=(?<more>true|false)"(?:,"")*\r\n$/,
};

/** @param tail the last characters of the file; undefined when the file broke off */
export function readExportEnd(format: ExportFormat, tail: string): ExportEnd | undefined {
  const { groups } = ENDS[format].exec(tail) ?? {};
  if (groups === undefined) return undefined;
  return { count: Number(groups['count']), next: Number(groups['next']), more: groups['more'] === 'true' };
}

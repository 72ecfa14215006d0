/** How an export ended: the `seq` up to which everything was looked at, and whether there may be more behind it. */
export interface ExportEnd {
  count: number;
  next: number;
  more: boolean;
}

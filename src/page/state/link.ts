/** How the page hears of new captures, and so whether it has them all. */
export type Link =
  | { state: 'connecting' }
  | { state: 'live' }
  /** What was missed is being read: `toGo` entries are left. */
  | { state: 'catching-up'; toGo: number }
  /** The next attempt is at `retryAt` (Unix milliseconds); `toGo` captures are known to be missing. */
  | { state: 'reconnecting'; retryAt: number; why: string | undefined; toGo: number }
  /** There are no live events: the list is as old as its last refresh. */
  | { state: 'not-live'; why: string };

import type { Options } from './options.ts';

/** What the parts of one run share. */
export interface Session {
  options: Options;
  /** Aborted: read and try nothing more. */
  stopping: AbortSignal;
  /** Aborted: give up what is under way, too. */
  cutting: AbortSignal;
  /** Without a byte for so long, a connection to Hookbay is taken for dead; it sends one each 15 s. */
  silenceMs: number;
  /** One line to the user. */
  say: (line: string) => void;
}

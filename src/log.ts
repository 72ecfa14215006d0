import { pino, type Logger } from 'pino';

export type Log = Logger;

/** Never log captured data, tokens or SQL texts: `describeError` keeps class, code and a message without values. */
export function createLog(level: string, bindings: Record<string, unknown> = {}): Log {
  // Node's own stream: it writes the last line before the process exits, and reports a closed reader as an error that
  // can be handled. Pino's writer would retry without end at exit.
  return pino({ level, base: bindings, timestamp: pino.stdTimeFunctions.isoTime }, process.stdout);
}

/** Warnings of libraries (BullMQ on an eviction policy, ioredis on INFO) become log lines without data. */
export function logConsole(log: Log): void {
  const write =
    (level: 'warn' | 'error') =>
    (...parts: unknown[]): void => {
      log[level](
        { console: parts.map((part) => (typeof part === 'string' ? part : describeError(part))) },
        'A library printed a message',
      );
    };
  Object.assign(console, { warn: write('warn'), error: write('error') });
}

interface DriverError extends Error {
  /** A number in errors of the web platform (DOMException). */
  code?: string | number;
  errno?: number;
  sqlState?: string;
}

export interface DescribedError {
  type: string;
  message?: string;
  code?: string | number;
  errno?: number;
  sqlState?: string;
  stack?: string;
}

/** MySQL quotes column values in its messages, so only code and state of a database error are kept. */
export function describeError(error: unknown): DescribedError {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, code, errno, sqlState, stack } = error as DriverError;
  const known = { type: name, ...(code !== undefined && { code }) };
  if (sqlState !== undefined) return { ...known, ...(errno !== undefined && { errno }), sqlState };
  return { ...known, message: withoutValues(error), stack: framesOf(stack ?? '', message) };
}

/** JSON.parse quotes its input, Node an invalid argument, and Redis the arguments of an unknown command. */
function withoutValues(error: DriverError): string {
  const quotes = error instanceof SyntaxError || String(error.code).startsWith('ERR_INVALID_');
  if (quotes) return '(left out: it may quote data)';
  return error.message.replace(/, with args beginning with: .*$/s, '');
}

/** Only lines after the message, because a line of the message may look like a frame. */
function framesOf(stack: string, message: string): string {
  const start = stack.indexOf(message);
  if (start === -1) return '';
  return stack
    .slice(start + message.length)
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 8)
    .join('\n');
}

/** Writes at most one line an interval, with the number of lines left out before it. */
export function atMostEvery<T>(ms: number, write: (value: T, leftOut: number) => void): (value: T) => void {
  let [next, leftOut] = [0, 0];
  return (value) => {
    const now = performance.now();
    if (now < next) return void (leftOut += 1);
    write(value, leftOut);
    [next, leftOut] = [now + ms, 0];
  };
}

/** During an outage every capture is refused for the same reason. */
const REFUSALS_LOGGED_EVERY_MS = 10_000;

/** Returns a function that logs refused captures and their cause, at intervals. */
export function refusalLog(log: Log, reason: string): (cause: unknown) => void {
  return atMostEvery(REFUSALS_LOGGED_EVERY_MS, (cause, leftOut) => {
    log.error({ reason, leftOut, ...(cause !== undefined && { error: describeError(cause) }) }, 'Captures refused');
  });
}

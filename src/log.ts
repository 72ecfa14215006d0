import { pino, type Logger } from 'pino';

export type Log = Logger;

/**
 * JSON lines on standard output. Captured data, tokens and SQL texts never go in:
 * errors are logged by `describeError`, which keeps class, code and a message without values.
 */
export function createLog(level: string, bindings: Record<string, unknown> = {}): Log {
  return pino({ level, base: bindings, timestamp: pino.stdTimeFunctions.isoTime });
}

interface DriverError extends Error {
  code?: string;
  errno?: number;
  sqlState?: string;
}

/**
 * What may be said of an error in a log. MySQL quotes column values in its messages,
 * so that only code and state of a database error are kept.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, code, errno, sqlState, stack } = error as DriverError;
  if (sqlState !== undefined) return { type: name, code, errno, sqlState };
  const frames = stack?.split('\n').filter((line) => /^\s+at /.test(line)).slice(0, 8).join('\n');
  return { type: name, message, ...(code !== undefined && { code }), stack: frames };
}

import type { ServerResponse } from 'node:http';

/** A reader has to take so many bytes in so long a time, once something waits for it: 8 KiB a second. */
export interface ReadingPace {
  windowMs: number;
  windowBytes: number;
}

export const READING_PACE: ReadingPace = { windowMs: 20_000, windowBytes: 160 * 1024 };

/**
 * Closes the connections of readers that do not take their answers: what waits for them is held in memory.
 * An answer that is being prepared waits for nobody, however long that takes.
 */
export function watchReaders(
  answers: Iterable<ServerResponse>,
  { windowMs, windowBytes } = READING_PACE,
): { stop(): void } {
  /** Bytes that had left for the reader at the last look; only answers that it was behind with then. */
  let behind = new Map<ServerResponse, number>();

  function look(): void {
    const stillBehind = new Map<ServerResponse, number>();
    for (const answer of answers) {
      const { socket } = answer;
      // Without a socket it waits for the answer before it, on the same connection.
      if (socket === null || answer.writableLength === 0) continue;
      const left = socket.bytesWritten - socket.writableLength;
      const before = behind.get(answer);
      if (before !== undefined && left - before < windowBytes) socket.destroy();
      else stillBehind.set(answer, left);
    }
    behind = stillBehind;
  }

  const timer = setInterval(look, windowMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

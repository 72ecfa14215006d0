import type { ServerResponse } from 'node:http';

/** The minimum speed of a reader while an answer waits for it: 8 KiB a second. */
export interface ReadingPace {
  windowMs: number;
  windowBytes: number;
}

export const READING_PACE: ReadingPace = { windowMs: 20_000, windowBytes: 160 * 1024 };

/** Closes connections of readers that do not read, because unread bytes are held in memory. */
export function watchReaders(
  answers: Iterable<ServerResponse>,
  { windowMs, windowBytes } = READING_PACE,
): { stop(): void } {
  /** Readers for whom something waited at the last check. */
  let waiting = new Map<ServerResponse, Progress>();

  function check(): void {
    const still = new Map<ServerResponse, Progress>();
    for (const answer of answers) {
      const { socket } = answer;
      // Without a socket the answer waits for the one before it on the connection.
      if (socket === null || answer.writableLength === 0) continue;
      const now = { sent: socket.bytesWritten - socket.writableLength, written: socket.bytesWritten };
      const before = waiting.get(answer);
      if (before !== undefined && isTooSlow(before, now, windowBytes)) socket.destroy();
      else still.set(answer, now);
    }
    waiting = still;
  }

  const timer = setInterval(check, windowMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

/** Bytes of one connection so far: taken by the operating system, and written by us. */
export interface Progress {
  sent: number;
  written: number;
}

/**
 * Whether too little was sent in a window. A reader who has taken all that waited at its beginning keeps up with a
 * stream, even if something new waits at its end.
 */
export function isTooSlow(before: Progress, now: Progress, windowBytes: number): boolean {
  return now.sent - before.sent < windowBytes && now.sent < before.written;
}

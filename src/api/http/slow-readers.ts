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
  /** Bytes sent to each slow reader at the last check. */
  let slow = new Map<ServerResponse, number>();

  function check(): void {
    const stillSlow = new Map<ServerResponse, number>();
    for (const answer of answers) {
      const { socket } = answer;
      // Without a socket the answer waits for the one before it on the connection.
      if (socket === null || answer.writableLength === 0) continue;
      const sent = socket.bytesWritten - socket.writableLength;
      const before = slow.get(answer);
      if (before !== undefined && sent - before < windowBytes) socket.destroy();
      else stillSlow.set(answer, sent);
    }
    slow = stillSlow;
  }

  const timer = setInterval(check, windowMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

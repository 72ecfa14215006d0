/** Messages of one socket: a burst may subscribe to hundreds of endpoints; a constant stream is refused. */
const BURST = 500;
const PER_SECOND = 20;

/** Refused messages in a row after which the connection is cut. */
const FLOOD = 500;

export interface MessageLimit {
  /** Counts a message: `allowed`, `refused`, or `flood` after too many refused ones. */
  take(): 'allowed' | 'refused' | 'flood';
  readonly explanation: string;
}

export function createMessageLimit(now: () => number = performance.now.bind(performance)): MessageLimit {
  let tokens = BURST;
  let refused = 0;
  let filledAt = now();
  return {
    take() {
      const at = now();
      tokens = Math.min(BURST, tokens + ((at - filledAt) / 1_000) * PER_SECOND);
      filledAt = at;
      if (tokens >= 1) {
        tokens -= 1;
        refused = 0;
        return 'allowed';
      }
      refused += 1;
      return refused > FLOOD ? 'flood' : 'refused';
    },
    explanation: `Too many messages: ${BURST} at once and ${PER_SECOND} a second are allowed`,
  };
}

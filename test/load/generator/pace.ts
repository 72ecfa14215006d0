/** Decides when the next request is to be sent. */
export interface Pace {
  /** Takes a request: the instant from which its latency counts; undefined when none is due. */
  take(): number | undefined;
  /** No request will become due any more. */
  ended(): boolean;
}

export interface Extent {
  seconds?: number | undefined;
  amount?: number | undefined;
}

/** Closed loop: a connection sends its next request as soon as it has its answer. */
export function closedLoop({ seconds = Infinity, amount = Infinity }: Extent, now: () => number): Pace {
  const end = now() + seconds * 1000;
  let taken = 0;
  const ended = (): boolean => taken >= amount || now() >= end;
  return {
    take() {
      if (ended()) return undefined;
      taken += 1;
      return now();
    },
    ended,
  };
}

/** Open loop: requests become due at a steady rate, and their latency counts from then, whether or not one is free. */
export function openLoop(perSecond: number, seconds: number, now: () => number): Pace {
  const start = now();
  const amount = Math.floor(perSecond * seconds);
  let taken = 0;
  return {
    take() {
      const due = start + (taken * 1000) / perSecond;
      if (taken >= amount || due > now()) return undefined;
      taken += 1;
      return due;
    },
    ended: () => taken >= amount,
  };
}

import type { IncomingMessage } from 'node:http';

const MAX_WAITING = 500;
const MAX_WAITING_PER_ENDPOINT = 5;

/** Answers that wait for the delay of their custom response; each holds a connection, and no body. */
export interface Delays {
  /** Returns whether the delay was kept in full: not where too many wait, the sender goes, or the process stops. */
  wait(req: IncomingMessage, endpointId: string, ms: number): Promise<boolean>;
  count(): number;
  /** Ends all delays, and keeps none from now on. */
  stop(): void;
}

export function createDelays(): Delays {
  const waiting = new Set<() => void>();
  const ofEndpoint = new Map<string, number>();
  let stopped = false;

  function sleep({ socket }: IncomingMessage, ms: number): Promise<boolean> {
    // Pipelined requests wait on one socket.
    socket.setMaxListeners(0);
    return new Promise((resolve) => {
      const timer = setTimeout(() => end(true), ms);
      const cut = (): void => end(false);
      function end(inFull: boolean): void {
        clearTimeout(timer);
        waiting.delete(cut);
        socket.off('end', cut).off('close', cut);
        resolve(inFull);
      }
      waiting.add(cut);
      socket.on('end', cut).on('close', cut);
    });
  }

  return {
    async wait(req, endpointId, ms) {
      const held = ofEndpoint.get(endpointId) ?? 0;
      const isGone = req.socket.destroyed || req.socket.readableEnded;
      if (stopped || isGone || waiting.size >= MAX_WAITING || held >= MAX_WAITING_PER_ENDPOINT) return false;
      ofEndpoint.set(endpointId, held + 1);
      const inFull = await sleep(req, ms);
      const left = (ofEndpoint.get(endpointId) ?? 1) - 1;
      if (left === 0) ofEndpoint.delete(endpointId);
      else ofEndpoint.set(endpointId, left);
      return inFull;
    },
    count: () => waiting.size,
    stop() {
      stopped = true;
      for (const cut of waiting) cut();
    },
  };
}

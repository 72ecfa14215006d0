import { httpError } from '../http/errors.ts';

/** Long after a look, and short enough that a place is not left unused for long. */
const RETRY_AFTER_SECONDS = 5;

export interface PlaceLimits {
  /** What is counted, in the plural, for messages. */
  name: string;
  ofUser: number;
  ofProcess?: number;
}

/** What users keep open on this process, counted and limited. */
export interface Places {
  /**
   * Returns a function that gives the place back.
   * @throws HttpError 429
   */
  take(userId: string): () => void;
  used(): number;
}

export function createPlaces({ name, ofUser, ofProcess = Infinity }: PlaceLimits): Places {
  const takenBy = new Map<string, number>();
  let used = 0;

  function refuse(message: string): never {
    throw httpError(429, message, { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } });
  }

  return {
    take(userId) {
      const taken = takenBy.get(userId) ?? 0;
      if (taken >= ofUser) refuse(`You have ${taken} ${name} on this process, which is the maximum`);
      if (used >= ofProcess) refuse(`This process has ${used} ${name}, which is the maximum; try again`);
      takenBy.set(userId, taken + 1);
      used += 1;
      return () => {
        used -= 1;
        const left = (takenBy.get(userId) ?? 1) - 1;
        if (left === 0) takenBy.delete(userId);
        else takenBy.set(userId, left);
      };
    },
    used: () => used,
  };
}

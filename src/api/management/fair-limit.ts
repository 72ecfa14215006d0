import pLimit from 'p-limit';

export interface FairLimits {
  ofUser: number;
  ofAll: number;
}

/** Runs work of a user as soon as the user and all users together have room; one user never takes all of it. */
export function createFairLimit({ ofUser, ofAll }: FairLimits) {
  const all = pLimit(ofAll);
  const users = new Map<string, ReturnType<typeof pLimit>>();

  return async <T>(userId: string, work: () => Promise<T>): Promise<T> => {
    const user = users.get(userId) ?? pLimit(ofUser);
    users.set(userId, user);
    try {
      return await user(() => all(work));
    } finally {
      if (user.activeCount + user.pendingCount === 0) users.delete(userId);
    }
  };
}

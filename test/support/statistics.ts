/** A median with the smallest and the largest value. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** @throws Error without values */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (min === undefined || max === undefined) throw new Error('there are no values');
  const half = sorted.length >> 1;
  const upper = sorted[half] as number;
  return { median: sorted.length % 2 === 1 ? upper : ((sorted[half - 1] as number) + upper) / 2, min, max };
}

/** The smallest value that at least a part `q` of all values do not exceed; NaN without values. */
export function quantile(sorted: ArrayLike<number>, q: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * q) - 1)] ?? Number.NaN;
}

/** The same of values in any order. */
export function percentile(values: readonly number[], q: number): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    q,
  );
}

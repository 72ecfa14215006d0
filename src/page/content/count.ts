import { formatCount } from './size.ts';

/** `1 request`, `5,300 requests`. */
export function countOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

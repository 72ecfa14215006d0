/** Header lines as they were received, each with `end`. */
export function headerLines(rawHeaders: readonly string[], end: string): string {
  return headerPairs(rawHeaders)
    .map(([name, value]) => `${name}: ${value}${end}`)
    .join('');
}

export function headerPairs(rawHeaders: readonly string[]): [name: string, value: string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) pairs.push([rawHeaders[i] as string, rawHeaders[i + 1] as string]);
  return pairs;
}

/** Whether the body was sent in chunks, without a length. */
export function isChunked(rawHeaders: readonly string[]): boolean {
  return headerPairs(rawHeaders).some(([name, value]) => /^transfer-encoding$/i.test(name) && /chunked$/i.test(value));
}

const UNITS = ['kB', 'MB', 'GB', 'TB'];

/** `512 B`, `2.1 kB`: powers of 1,000. */
export function formatSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  let [size, unit] = [bytes / 1000, 0];
  // What would round to 1000.0 is 1.0 of the next unit.
  while (size >= 999.95 && unit < UNITS.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${size.toFixed(1)} ${UNITS[unit]}`;
}

/** `2,134 bytes`. */
export function exactSize(bytes: number): string {
  return `${formatCount(bytes)} ${bytes === 1 ? 'byte' : 'bytes'}`;
}

/** `81,234`. */
export function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

import { LRUCache } from 'lru-cache';

/** An announcement of a key drops its copy, and keeps loads that began earlier from storing theirs. */
export interface LocalCopies<V extends {}> {
  /** The copy, if there is one. */
  peek(key: string): V | undefined;
  read(key: string, load: () => Promise<V | undefined>): Promise<V | undefined>;
  drop(key: string): void;
  clear(): void;
}

export interface LocalCopiesOptions<V> {
  max: number;
  ttlMs: number;
  /** Whether announcements reach this process. */
  mayKeep: () => boolean;
  /** For values of very different sizes: a limit on the sum of their sizes. */
  bytes?: { max: number; sizeOf: (value: V) => number };
}

export function createLocalCopies<V extends {}>({ max, ttlMs, mayKeep, bytes }: LocalCopiesOptions<V>): LocalCopies<V> {
  const copies = new LRUCache<string, V>({
    max,
    ttl: ttlMs,
    ...(bytes && { maxSize: bytes.max, sizeCalculation: bytes.sizeOf }),
  });
  /** The number of running loads of a key; loads that began before a drop are not in here any more. */
  const loading = new Map<string, { loads: number }>();

  async function read(key: string, load: () => Promise<V | undefined>): Promise<V | undefined> {
    const copy = copies.get(key);
    if (copy !== undefined) return copy;
    const current = loading.get(key) ?? { loads: 0 };
    loading.set(key, current);
    current.loads += 1;
    try {
      const value = await load();
      if (value !== undefined && loading.get(key) === current && mayKeep()) copies.set(key, value);
      return value;
    } finally {
      current.loads -= 1;
      if (current.loads === 0 && loading.get(key) === current) loading.delete(key);
    }
  }

  return {
    peek: (key) => copies.get(key),
    read,
    drop(key) {
      copies.delete(key);
      loading.delete(key);
    },
    clear() {
      copies.clear();
      loading.clear();
    },
  };
}

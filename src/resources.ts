/** Collects resources, and closes them in reverse order of opening. */
export interface Resources {
  /** Registers a resource with its closer, and returns it. */
  add<T>(resource: T, close: (resource: T) => Promise<void> | void): T;
  /** Closes all; a second call has no effect. When a closer fails, the others still run. */
  close(): Promise<void>;
}

export function createResources(onError: (error: unknown) => void): Resources {
  const closers: (() => Promise<void> | void)[] = [];
  return {
    add(resource, close) {
      closers.push(() => close(resource));
      return resource;
    },
    async close() {
      for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) {
        try {
          await closer();
        } catch (error) {
          onError(error);
        }
      }
    },
  };
}

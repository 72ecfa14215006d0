/** Collects what has to be closed, and closes it in reverse order of opening. */
export interface Resources {
  /** Registers a closer and returns the resource itself. */
  add<T>(resource: T, close: (resource: T) => Promise<void> | void): T;
  /** Closes everything; a second call does nothing. A failing closer does not keep the others from running. */
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

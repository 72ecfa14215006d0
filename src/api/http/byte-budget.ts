/** A body or an answer of at most this size is small, and has reserved memory. */
const SMALL_BYTES = 64 * 1024;

const SMALL_SHARE = 1 / 16;

/**
 * A user may hold this many times the free memory, and an endpoint this many times what its owner may still take
 * (dynamic thresholds, Choudhury and Hahne 1998): a single user gets about four fifths, and others still find room.
 */
const USER_FACTOR = 4;
const ENDPOINT_FACTOR = 8;

/** The holder of memory; `endpointId` where it is one endpoint's traffic. */
export interface Owner {
  userId: string;
  endpointId?: string;
}

export interface Holding {
  /** Takes this many more bytes, or refuses and takes none. */
  take(bytes: number): boolean;
  /** Returns all bytes to the budget; a second call has no effect. */
  release(): void;
}

/** Memory in bytes that one process reserves for all its users. */
export interface ByteBudget {
  open(owner: Owner): Holding;
  used(): number;
}

export function createByteBudget(max: number): ByteBudget {
  const forSmall = createPool(Math.floor(max * SMALL_SHARE));
  const forAll = createPool(max - Math.floor(max * SMALL_SHARE));

  function open(owner: Owner): Holding {
    let pool = forSmall;
    let held = 0;
    return {
      take(bytes) {
        const wanted = held + bytes;
        if (pool === forAll) {
          if (!forAll.take(owner, held, bytes)) return false;
        } else if (wanted > SMALL_BYTES || !forSmall.take(owner, held, bytes)) {
          if (!forAll.take(owner, 0, wanted)) return false;
          forSmall.give(owner, held);
          pool = forAll;
        }
        held = wanted;
        return true;
      },
      release() {
        pool.give(owner, held);
        held = 0;
      },
    };
  }

  return { open, used: () => forSmall.used() + forAll.used() };
}

interface Pool {
  /** @param held what the same body or answer holds already */
  take(owner: Owner, held: number, bytes: number): boolean;
  give(owner: Owner, bytes: number): void;
  used(): number;
}

function createPool(max: number): Pool {
  const ofUser = new Map<string, number>();
  const ofEndpoint = new Map<string, number>();
  let used = 0;

  function add({ userId, endpointId = '' }: Owner, bytes: number): void {
    used += bytes;
    addTo(ofUser, userId, bytes);
    addTo(ofEndpoint, endpointId, bytes);
  }

  return {
    take(owner, held, bytes) {
      const free = max - used - bytes;
      if (free < 0) return false;
      const user = (ofUser.get(owner.userId) ?? 0) + bytes;
      // A user's only body may take what is free; otherwise a small budget would never admit a large one.
      if (user > held + bytes) {
        const room = USER_FACTOR * free - user;
        if (room < 0) return false;
        const { endpointId } = owner;
        if (endpointId !== undefined && (ofEndpoint.get(endpointId) ?? 0) + bytes > ENDPOINT_FACTOR * room)
          return false;
      }
      add(owner, bytes);
      return true;
    },
    give: (owner, bytes) => add(owner, -bytes),
    used: () => used,
  };
}

function addTo(held: Map<string, number>, key: string, bytes: number): void {
  const sum = (held.get(key) ?? 0) + bytes;
  if (sum === 0) held.delete(key);
  else held.set(key, sum);
}

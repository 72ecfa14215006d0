/** Up to here a body or an answer is small, and finds room that larger ones can't take. */
const SMALL_BYTES = 64 * 1024;

/** Share of the memory that only small ones get. */
const SMALL_SHARE = 1 / 16;

/**
 * A user may hold this many times what is still free, and an endpoint this many times what its owner may still take
 * (dynamic thresholds, Choudhury and Hahne 1998): who is alone gets nearly all, and whoever comes next finds room.
 */
const USER_FACTOR = 4;
const ENDPOINT_FACTOR = 8;

/** Who holds memory; `endpointId` where it is one endpoint's traffic. */
export interface Owner {
  userId: string;
  endpointId?: string;
}

/** What one body, or one answer, holds. */
export interface Holding {
  /** Takes so many bytes more, or refuses and takes none. */
  take(bytes: number): boolean;
  /** Gives everything back; a second call does nothing. */
  release(): void;
}

/** Memory that one process sets aside, shared by all users, in bytes. */
export interface ByteBudget {
  open(owner: Owner): Holding;
  /** Bytes that are held. */
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
        if (pool === forAll || (wanted <= SMALL_BYTES && pool.take(owner, held, bytes))) {
          if (pool === forAll && !pool.take(owner, held, bytes)) return false;
        } else {
          if (!forAll.take(owner, 0, wanted)) return false;
          pool.give(owner, held);
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
      // The only one of its user may take what is there, or a small budget would never let a large body pass.
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

/** Forgets who holds nothing any more. */
function addTo(held: Map<string, number>, key: string, bytes: number): void {
  const sum = (held.get(key) ?? 0) + bytes;
  if (sum === 0) held.delete(key);
  else held.set(key, sum);
}

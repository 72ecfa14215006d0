import { randomFillSync, randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Unguessable (UUIDv4): only the secrecy of the id protects an endpoint. */
export function newEndpointId(): string {
  return randomUUID();
}

/** Random bytes for many ids: the package draws them one id at a time, which costs more than the rest of an id. */
const entropy = Buffer.alloc(16 * 256);
let drawn = entropy.length;
let lastMs = 0;
let sequence = 0;

/** Increasing within a process (UUIDv7, RFC 9562): ids of captures and batches are append-only keys. */
export function newTimeOrderedId(): string {
  if (drawn === entropy.length) {
    randomFillSync(entropy);
    drawn = 0;
  }
  const random = entropy.subarray(drawn, drawn + 16);
  drawn += 16;
  const now = Date.now();
  // Each millisecond begins at a random number below 2^31, which leaves room to count.
  sequence = now > lastMs ? random.readUInt32BE() >>> 1 : sequence + 1;
  lastMs = Math.max(lastMs, now);
  return uuidv7({ random, msecs: lastMs, seq: sequence });
}

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** 16 bytes as stored in `BINARY(16)`; `id` must be a UUID. */
export function idToBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

export function bytesToId(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The time of a UUIDv7, in Unix milliseconds. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** The smallest UUIDv7 of an instant (Unix milliseconds): smaller ids are older. */
export function firstIdAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

export const SLOTS = 16_384;

/** The Redis Cluster slot of a key: of its hash tag, where it has one. */
export function slotOf(key: string): number {
  const hashed = /^[^{]*\{([^}]+)\}/.exec(key)?.[1] ?? key;
  return crc16(Buffer.from(hashed)) % SLOTS;
}

/** CRC-16/XMODEM, as the cluster specification says. */
function crc16(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

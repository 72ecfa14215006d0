import { isIP, type Socket } from 'node:net';
import type { IncomingMessage } from 'node:http';

/** Connections have many requests. */
const addresses = new WeakMap<Socket, string>();

/**
 * The sender's address: the socket's, or with `trustedHops` proxies the address that the outermost of them saw, which
 * is that many entries from the right of `X-Forwarded-For` (entries further left are the sender's own claim).
 */
export function senderAddress(req: IncomingMessage, trustedHops: number): string {
  const socketAddress = addressOf(req.socket);
  if (trustedHops === 0) return socketAddress;
  const forwarded = String(req.headers['x-forwarded-for'] ?? '').split(',');
  // With fewer entries than proxies the request bypassed them, and the header is the sender's own claim.
  const claimed = normalized(forwarded.at(-trustedHops)?.trim() ?? '');
  return isIP(claimed) === 0 ? socketAddress : claimed;
}

function addressOf(socket: Socket): string {
  const known = addresses.get(socket);
  if (known !== undefined) return known;
  const address = normalized(socket.remoteAddress ?? '');
  addresses.set(socket, address);
  return address;
}

/** The unit of limits: an IPv4 address, or an IPv6 /64, all of which one sender has. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  // The URL parser normalizes the address (RFC 5952), without an IPv4 address at its end.
  const { hostname } = new URL(`http://[${address}]`);
  const halves = hostname.slice(1, -1).split('::');
  const [left = [], right = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0');
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`;
}

/** Removes brackets, port and zone, and turns an IPv4-mapped address into IPv4. */
function normalized(address: string): string {
  const bare = address.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
  return bare.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
}

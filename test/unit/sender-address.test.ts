import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { networkOf, senderAddress } from '../../src/api/http/sender-address.ts';

const from = (remoteAddress: string, forwarded?: string): IncomingMessage =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage;

test.each([
  ['no proxy: the header is the sender’s own claim', from('10.0.0.9', '6.6.6.6'), 0, '10.0.0.9'],
  ['IPv4 in IPv6', from('::ffff:192.0.2.1'), 0, '192.0.2.1'],
  ['IPv6', from('2001:db8::1'), 0, '2001:db8::1'],
  ['one proxy', from('10.0.0.1', '6.6.6.6, 203.0.113.7'), 1, '203.0.113.7'],
  ['two proxies', from('10.0.0.1', '6.6.6.6, 203.0.113.7, 10.0.0.2'), 2, '203.0.113.7'],
  ['fewer entries than proxies: it came past them', from('10.0.0.1', '203.0.113.7'), 3, '10.0.0.1'],
  ['a zone of any length', from('10.0.0.1', `fe80::1%${'a'.repeat(60)}`), 1, 'fe80::1'],
  ['a proxy that sets none', from('10.0.0.1'), 1, '10.0.0.1'],
  ['garbage', from('10.0.0.1', 'a, <script>'), 1, '10.0.0.1'],
  ['an empty entry', from('10.0.0.1', '203.0.113.7,'), 1, '10.0.0.1'],
  ['with a port', from('10.0.0.1', '203.0.113.7:4711'), 1, '203.0.113.7'],
  ['IPv6 with a port', from('10.0.0.1', '[2001:db8::1]:4711'), 1, '2001:db8::1'],
])('%s', (_name, req, hops, expected) => {
  expect(senderAddress(req, hops)).toBe(expected);
});

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8::', '2001:db8:0:0::/64'],
  ['2001:0DB8:0000:0000:ffff:ffff:ffff:ffff', '2001:db8:0:0::/64'],
  ['2001:db8:0:1::1', '2001:db8:0:1::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['', ''],
])('a limit counts %j as %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

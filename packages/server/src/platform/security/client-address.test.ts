// Tests that a client cannot choose the address that is used for limits, logs and network checks.
import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { describe, test } from 'node:test';
import { assertLinear } from '@castellan/testing/linear-time';
import fc from 'fast-check';
import { canonicalRange } from './address-ranges.ts';
import {
  clientAddress,
  type ForwardingHeaders,
  networkOf,
  parseTrustedProxies,
  rateLimitAddress,
  unknownAddress,
} from './client-address.ts';

const noProxies = parseTrustedProxies('');
const proxies = parseTrustedProxies('10.0.0.0/8, 127.0.0.1,2001:db8:ffff::/48 , ::1');

describe('TRUSTED_PROXIES', () => {
  const members: [text: string, address: string, expected: boolean][] = [
    ['', '127.0.0.1', false],
    [' , ,', '127.0.0.1', false],
    ['127.0.0.1', '127.0.0.1', true],
    ['127.0.0.1', '::ffff:127.0.0.1', true],
    ['127.0.0.1', '::ffff:7f00:1', true],
    ['127.0.0.1', '127.0.0.2', false],
    ['127.0.0.1,', '127.0.0.1', true],
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.1.2.3/8', '10.200.0.1', true],
    ['192.168.0.0/31', '192.168.0.1', true],
    ['192.168.0.0/31', '192.168.0.2', false],
    ['128.0.0.0/1', '200.1.1.1', true],
    ['fd00::/8', 'fdab::1', true],
    ['fd00::/8', 'fe00::1', false],
    ['fd00::/8', '253.0.0.1', false],
    ['FD00::1/128', 'fd00:0:0:0:0:0:0:1', true],
    ['fe80::1', 'fe80::1%eth0', true],
    ['::ffff:10.0.0.0/104', '10.9.9.9', true],
    ['::ffff:10.0.0.0/104', '11.9.9.9', false],
    ['::ffff:10.0.0.7', '10.0.0.7', true],
    ['10.0.0.0/8', 'garbage', false],
    ['10.0.0.0/8', '10.1', false],
    ['10.0.0.0/8', '012.0.0.1', false],
    ['10.0.0.0/8', '', false],
  ];
  for (const [text, address, expected] of members) {
    test(`"${text}" ${expected ? 'trusts' : 'does not trust'} ${JSON.stringify(address)}`, () => {
      assert.equal(parseTrustedProxies(text).matches(address), expected);
    });
  }

  const refused = [
    '*',
    '/0',
    '/8',
    '0.0.0.0/0',
    '::/0',
    '10.0.0.0/0',
    '::ffff:0:0/96',
    '::ffff:0.0.0.0/64',
    '10.0.0.0/33',
    'fd00::/129',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/+8',
    '10.0.0.0/8/8',
    '10.0.0.0/255.0.0.0',
    '10.0.0',
    '10',
    '0x7f.1',
    '0x7f.0.0.1',
    '127.1',
    '0177.0.0.1',
    '127.0.0.01',
    '2130706433',
    '127.0.0.1:80',
    '[::1]',
    'fe80::1%eth0',
    'localhost',
    'loopback',
    'proxy.example.com',
    '10.0.0.1;10.0.0.2',
    '10.0.0.1 10.0.0.2',
    '１0.0.0.1',
  ];
  for (const entry of refused) {
    test(`"${entry}" is refused by name, also among valid entries`, () => {
      for (const text of [entry, `10.0.0.1,${entry}`, `${entry} , ::1`]) {
        assert.throws(
          () => parseTrustedProxies(text),
          (error: unknown) => error instanceof Error && error.message.includes(JSON.stringify(entry)),
        );
      }
    });
  }

  test('a range trusts exactly the addresses that share its prefix', () => {
    const byte = fc.integer({ min: 0, max: 255 });
    const ipv4 = fc.tuple(byte, byte, byte, byte);
    const toNumber = (bytes: number[]) => bytes.reduce((sum, each) => sum * 256 + each, 0);
    fc.assert(
      fc.property(ipv4, ipv4, fc.integer({ min: 1, max: 32 }), (network, address, bits) => {
        const share = 2 ** (32 - bits);
        const expected = Math.floor(toNumber(network) / share) === Math.floor(toNumber(address) / share);
        const trusted = parseTrustedProxies(`${network.join('.')}/${bits}`);
        assert.equal(trusted.matches(address.join('.')), expected);
        assert.equal(trusted.matches(`::ffff:${address.join('.')}`), expected);
      }),
    );
  });
});

describe('the client address', () => {
  const rows: [name: string, peer: string | undefined, headers: ForwardingHeaders, expected: string][] = [
    ['no header', '203.0.113.9', {}, '203.0.113.9'],
    ['no header from a proxy', '10.0.0.1', {}, '10.0.0.1'],
    ['a closed socket', undefined, { 'x-forwarded-for': '1.1.1.1' }, unknownAddress],
    ['an unreadable peer', 'pipe', { 'x-forwarded-for': '1.1.1.1' }, unknownAddress],
    ['mapped peer', '::ffff:203.0.113.9', {}, '203.0.113.9'],
    ['mapped peer in hexadecimal', '::ffff:cb00:7109', {}, '203.0.113.9'],
    ['peer with zone', 'fe80::1%eth0', {}, 'fe80::1'],
    ['peer in long form', '2001:0DB8:0:0:0:0:0:1', {}, '2001:db8::1'],
    [
      'untrusted peer with both headers',
      '203.0.113.9',
      { 'x-forwarded-for': '1.1.1.1', 'x-real-ip': '2.2.2.2' },
      '203.0.113.9',
    ],
    ['one hop', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9' }, '203.0.113.9'],
    ['one hop, mapped trusted peer', '::ffff:10.0.0.1', { 'x-forwarded-for': '203.0.113.9' }, '203.0.113.9'],
    ['a forged first entry', '10.0.0.1', { 'x-forwarded-for': '6.6.6.6, 203.0.113.9' }, '203.0.113.9'],
    [
      'trusted hops are passed',
      '127.0.0.1',
      { 'x-forwarded-for': '6.6.6.6,203.0.113.9,10.1.1.1,\t10.2.2.2' },
      '203.0.113.9',
    ],
    [
      'all hops trusted: the first of them',
      '127.0.0.1',
      { 'x-forwarded-for': '10.3.3.3, 10.1.1.1' },
      '10.3.3.3',
    ],
    ['garbage on the right', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9, unknown' }, '10.0.0.1'],
    ['garbage behind a trusted hop', '10.0.0.1', { 'x-forwarded-for': '6.6.6.6, -, 10.5.5.5' }, '10.5.5.5'],
    ['garbage behind the client', '10.0.0.1', { 'x-forwarded-for': '<x>, 203.0.113.9' }, '203.0.113.9'],
    ['empty header', '10.0.0.1', { 'x-forwarded-for': '' }, '10.0.0.1'],
    ['trailing comma', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9,' }, '10.0.0.1'],
    ['leading comma', '10.0.0.1', { 'x-forwarded-for': ',203.0.113.9' }, '203.0.113.9'],
    ['leading comma before trusted hops', '10.0.0.1', { 'x-forwarded-for': ',10.1.1.1' }, '10.1.1.1'],
    ['octal form', '10.0.0.1', { 'x-forwarded-for': '0177.0.0.1' }, '10.0.0.1'],
    ['hexadecimal form', '10.0.0.1', { 'x-forwarded-for': '0x7f.1' }, '10.0.0.1'],
    ['short form', '10.0.0.1', { 'x-forwarded-for': '127.1' }, '10.0.0.1'],
    ['IPv4 with port', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9:4711' }, '203.0.113.9'],
    ['IPv6', '10.0.0.1', { 'x-forwarded-for': '2001:DB8::00:9' }, '2001:db8::9'],
    ['IPv6 in brackets', '10.0.0.1', { 'x-forwarded-for': '[2001:db8::9]' }, '2001:db8::9'],
    ['IPv6 with port', '10.0.0.1', { 'x-forwarded-for': '[2001:db8::9]:443' }, '2001:db8::9'],
    ['IPv6 with zone', '10.0.0.1', { 'x-forwarded-for': 'fe80::9%eth0' }, 'fe80::9'],
    ['IPv6 with zone in brackets', '10.0.0.1', { 'x-forwarded-for': '[fe80::9%eth0]:443' }, 'fe80::9'],
    ['mapped entry', '10.0.0.1', { 'x-forwarded-for': '::ffff:203.0.113.9' }, '203.0.113.9'],
    [
      'mapped trusted entry is passed',
      '10.0.0.1',
      { 'x-forwarded-for': '203.0.113.9, ::ffff:10.1.1.1' },
      '203.0.113.9',
    ],
    ['IPv4 in brackets', '10.0.0.1', { 'x-forwarded-for': '[203.0.113.9]' }, '10.0.0.1'],
    ['IPv4 with zone', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9%eth0' }, '10.0.0.1'],
    ['quoted', '10.0.0.1', { 'x-forwarded-for': '"203.0.113.9"' }, '10.0.0.1'],
    ['a CIDR', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9/32' }, '10.0.0.1'],
    ['NUL', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9\0' }, '10.0.0.1'],
    ['no-break space', '10.0.0.1', { 'x-forwarded-for': '\u00a0203.0.113.9' }, '10.0.0.1'],
    [
      'repeated header',
      '10.0.0.1',
      { 'x-forwarded-for': ['6.6.6.6', '203.0.113.9, 10.1.1.1'] },
      '203.0.113.9',
    ],
    ['repeated header, last line empty', '10.0.0.1', { 'x-forwarded-for': ['203.0.113.9', ''] }, '10.0.0.1'],
    ['no line at all', '10.0.0.1', { 'x-forwarded-for': [] }, '10.0.0.1'],
    ['X-Real-IP alone', '10.0.0.1', { 'x-real-ip': '203.0.113.9' }, '203.0.113.9'],
    ['X-Real-IP in a list of one', '10.0.0.1', { 'x-real-ip': ['203.0.113.9'] }, '203.0.113.9'],
    ['X-Real-IP twice', '10.0.0.1', { 'x-real-ip': ['203.0.113.9', '6.6.6.6'] }, '10.0.0.1'],
    ['X-Real-IP joined', '10.0.0.1', { 'x-real-ip': '203.0.113.9, 6.6.6.6' }, '10.0.0.1'],
    ['X-Real-IP garbage', '10.0.0.1', { 'x-real-ip': 'me' }, '10.0.0.1'],
    [
      'X-Forwarded-For wins over X-Real-IP',
      '10.0.0.1',
      { 'x-forwarded-for': '203.0.113.9', 'x-real-ip': '6.6.6.6' },
      '203.0.113.9',
    ],
    [
      'a broken X-Forwarded-For does not give way to X-Real-IP',
      '10.0.0.1',
      { 'x-forwarded-for': 'unknown', 'x-real-ip': '6.6.6.6' },
      '10.0.0.1',
    ],
  ];
  for (const [name, peer, headers, expected] of rows) {
    test(name, () => assert.equal(clientAddress(peer, headers, proxies), expected));
  }

  const anyText = fc.oneof(
    fc.string(),
    fc.ipV4(),
    fc.ipV6(),
    fc.constantFrom('', ',', '10.0.0.1', '::1', '127.1'),
  );
  const anyHeader = fc.option(
    fc.oneof(
      anyText,
      fc.array(anyText),
      fc.array(anyText).map((list) => list.join(',')),
    ),
    { nil: undefined },
  );

  test('without a trusted peer, no header changes the result', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), anyHeader, anyHeader, (peer, forwarded, real) => {
        const headers = { 'x-forwarded-for': forwarded, 'x-real-ip': real };
        assert.equal(clientAddress(peer, headers, noProxies), clientAddress(peer, {}, noProxies));
      }),
    );
  });

  test('the result is always canonical text of one address', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.constant('127.0.0.1'), fc.ipV6()),
        anyHeader,
        anyHeader,
        (peer, forwarded, real) => {
          const address = clientAddress(peer, { 'x-forwarded-for': forwarded, 'x-real-ip': real }, proxies);
          assert.notEqual(isIP(address), 0);
          assert.equal(clientAddress(address, {}, noProxies), address);
        },
      ),
    );
  });

  test('entries to the left of the address that the proxy appends never count', () => {
    fc.assert(
      fc.property(anyText, fc.ipV4(), (forged, client) => {
        fc.pre(!proxies.matches(client));
        const headers = { 'x-forwarded-for': `${forged}, ${client}` };
        assert.equal(clientAddress('10.0.0.1', headers, proxies), client);
      }),
    );
  });

  test('IPv6 text agrees with the serializer of the URL standard', () => {
    const part = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }));
    fc.assert(
      fc.property(fc.array(part, { minLength: 8, maxLength: 8 }), (parts) => {
        fc.pre(parts.slice(0, 5).some((each) => each !== 0) || parts[5] !== 0xffff);
        const text = parts.map((each) => each.toString(16)).join(':');
        assert.equal(`[${clientAddress(text, {}, noProxies)}]`, new URL(`http://[${text}]`).hostname);
      }),
    );
  });

  test('a huge header takes linear time at most and 32 hops are read at most', () => {
    const headers: [headers: (size: number) => Record<string, string>, address: string][] = [
      [(size) => ({ 'x-forwarded-for': `${'10.1.1.1,'.repeat(size / 10)}10.1.1.1` }), '10.1.1.1'],
      [(size) => ({ 'x-forwarded-for': `1.1.1.1${' '.repeat(size)}` }), '10.0.0.1'],
      [(size) => ({ 'x-real-ip': '1'.repeat(size) }), '10.0.0.1'],
    ];
    for (const [of, address] of headers) {
      const read = (size: number) => assert.equal(clientAddress('10.0.0.1', of(size), proxies), address);
      assertLinear(JSON.stringify(of(10)), read, 600_000);
    }
    const hops = ['203.0.113.9', ...new Array(32).fill('10.1.1.1')].join();
    assert.equal(clientAddress('10.0.0.1', { 'x-forwarded-for': hops }, proxies), '10.1.1.1');
    assert.equal(clientAddress('10.0.0.1', { 'x-forwarded-for': hops.slice(0, -9) }, proxies), '203.0.113.9');
  });
});

describe('networks', () => {
  const rows: [address: string, network: string, bucket: string][] = [
    ['203.0.113.9', '203.0.113.0/24', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.0/24', '203.0.113.9'],
    ['255.255.255.255', '255.255.255.0/24', '255.255.255.255'],
    ['2001:db8::1', '2001:db8::/64', '2001:db8::/64'],
    ['2001:DB8:0:1:ffff:ffff:ffff:ffff', '2001:db8:0:1::/64', '2001:db8:0:1::/64'],
    ['::1', '::/64', '::/64'],
    ['fe80::1%eth0', 'fe80::/64', 'fe80::/64'],
  ];
  for (const [address, network, bucket] of rows) {
    test(`${address} is in ${network}, counted as ${bucket}`, () => {
      assert.equal(networkOf(address), network);
      assert.equal(rateLimitAddress(address), bucket);
    });
  }

  const ranges: [text: string, canonical: string | undefined][] = [
    ['203.0.113.9', '203.0.113.9'],
    ['203.0.113.9/32', '203.0.113.9'],
    ['203.0.113.9/24', '203.0.113.0/24'],
    ['203.0.113.255/25', '203.0.113.128/25'],
    ['203.0.113.9/0', '0.0.0.0/0'],
    ['2001:DB8:0::1', '2001:db8::1'],
    ['2001:db8::1/128', '2001:db8::1'],
    ['2001:db8:ffff::/33', '2001:db8:8000::/33'],
    ['2001:db8::1/64', '2001:db8::/64'],
    ['::/0', '::/0'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9/120', '203.0.113.0/24'],
    ['::ffff:203.0.113.9/95', undefined],
    ['203.0.113.9/33', undefined],
    ['203.0.113.9/', undefined],
    ['203.0.113.9/024', undefined],
    ['203.0.113.9/24/24', undefined],
    ['203.0.113', undefined],
    ['fe80::1%eth0', undefined],
    ['example.com', undefined],
    ['*', undefined],
    ['', undefined],
  ];
  for (const [text, canonical] of ranges)
    test(`the range ${JSON.stringify(text)} is ${canonical}`, () => {
      assert.equal(canonicalRange(text), canonical);
    });

  test('anything but an address throws, and never gives a shared network', () => {
    for (const text of ['', 'garbage', '127.1', '203.0.113.0/24']) {
      assert.throws(() => networkOf(text), RangeError);
      assert.throws(() => rateLimitAddress(text), RangeError);
    }
  });

  test('two IPv6 addresses share a network exactly when their first 64 bits agree', () => {
    const bits = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    const text = (high: bigint, low: bigint) =>
      ((high << 64n) | low).toString(16).padStart(32, '0').match(/.{4}/g)!.join(':');
    fc.assert(
      fc.property(bits, bits, bits, bits, (high, low, otherHigh, otherLow) => {
        fc.pre(high !== 0n && otherHigh !== 0n);
        assert.equal(networkOf(text(high, low)), networkOf(text(high, otherLow)));
        assert.equal(networkOf(text(high, low)) === networkOf(text(otherHigh, low)), high === otherHigh);
      }),
    );
  });
});

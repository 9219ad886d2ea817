// Wrong signatures, made for our tokens after the ideas of Wycheproof's EdDSA and JWS vectors. They are tried with an
// issued token, and with one that the allowlist lacks: there only the signature decides between "invalid" and
// "revoked". It must not alter header or claims: see headers.test.ts and claims.test.ts.
import { createHash, createHmac, sign as signBytes } from 'node:crypto';
import { after } from 'node:test';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { type Base, encode, rawPublicKey, seededKey, stranger, withMembers } from './forge.ts';
import { type Forgery, openForgeryTarget } from './forgery-target.ts';

const scenario = scenariosOf('tokens');
const target = await openForgeryTarget({ after });

// RFC 8032, 5.1: the order of the base point's group, and the field's prime.
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const PRIME = 2n ** 255n - 19n;

const numberOf = (bytes: Buffer): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
const bytesOf = (value: bigint): Buffer =>
  Buffer.from(BigInt.asUintN(256, value).toString(16).padStart(64, '0'), 'hex').reverse();

// Every encoding of a point of order 1, 2, 4 or 8, including those beyond the prime (RFC 8032, 5.1.3; "Taming the many
// EdDSAs", table of small-order points).
const smallOrder: readonly Buffer[] = [
  ...[0n, 1n, PRIME - 1n, PRIME, PRIME + 1n].flatMap((y) => [bytesOf(y), bytesOf(y + 2n ** 255n)]),
  ...['26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'].flatMap((hex) => {
    const y = numberOf(Buffer.from(hex, 'hex'));
    return [y, PRIME - y].flatMap((one) => [bytesOf(one), bytesOf(one + 2n ** 255n)]);
  }),
];

type Change = (signature: Buffer, base: Base) => Buffer;
const halves = (signature: Buffer): [r: Buffer, s: Buffer] => [
  signature.subarray(0, 32),
  signature.subarray(32),
];
const withR =
  (r: Buffer): Change =>
  (signature) =>
    Buffer.concat([r, halves(signature)[1]]);
const withS =
  (change: (s: bigint) => bigint): Change =>
  (signature) => {
    const [r, s] = halves(signature);
    return Buffer.concat([r, bytesOf(change(numberOf(s)))]);
  };
const inputOf = (base: Base): string => `${encode(base.header)}.${encode(base.payload)}`;
const signing =
  (text: (base: Base) => string | Buffer): Change =>
  (_, base) =>
    signBytes(null, Buffer.from(text(base)), base.privateKey);

const table = (rows: [string, Change][]): Forgery[] =>
  rows.map(([name, change]) => ({
    name,
    make: (base) => `${inputOf(base)}.${encode(change(base.signature, base))}`,
  }));

const scalars: [string, Change][] = [
  ...[1n, 2n, 3n, 7n].map((times): [string, Change] => [`S + ${times}L`, withS((s) => s + times * ORDER)]),
  ['S - L', withS((s) => s - ORDER)],
  ['-S', withS((s) => -s)],
  ['L - S', withS((s) => ORDER - s)],
  ['S + 1', withS((s) => s + 1n)],
  ['2S', withS((s) => 2n * s)],
  ['S = 0', withS(() => 0n)],
  ['S = 1', withS(() => 1n)],
  ['S = L', withS(() => ORDER)],
  ['S = L - 1', withS(() => ORDER - 1n)],
  ['S = 2^252', withS(() => 2n ** 252n)],
  ['S = 2^256 - 1', withS(() => 2n ** 256n - 1n)],
  ...[253n, 254n, 255n].map((bit): [string, Change] => [`S with bit ${bit}`, withS((s) => s | (1n << bit))]),
];
const points: [string, Change][] = [
  ...smallOrder.flatMap((point): [string, Change][] => {
    const hex = point.toString('hex');
    return [
      [`R ${hex}`, withR(point)],
      [`R ${hex} and S = 0`, () => Buffer.concat([point, Buffer.alloc(32)])],
      [`R ${hex} and S = L`, () => Buffer.concat([point, bytesOf(ORDER)])],
    ];
  }),
  ['R with its sign turned', (signature) => flipped(signature, 255)],
  ['R beyond the prime', withR(bytesOf(2n ** 255n - 1n))],
  ['R that is no point', withR(bytesOf(2n))],
  ['R that is our public key', (signature, base) => Buffer.concat([rawOf(base), halves(signature)[1]])],
  [
    'R as one number with its sign added',
    (signature) => withR(bytesOf(numberOf(halves(signature)[0]) + PRIME))(signature, target.bases.access),
  ],
];
const rawOf = (base: Base): Buffer => base.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);

function flipped(signature: Buffer, bit: number): Buffer {
  const copy = Buffer.from(signature);
  copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7));
  return copy;
}

for (const origin of ['issued', 'unlisted'] as const) {
  const what = origin === 'issued' ? 'an issued token' : 'a token that our key signed';
  scenario(`${what} is refused with a second signature made from its own values`, (tally) =>
    target.tryAll(tally, table(scalars), { of: origin }),
  );
  scenario(`${what} is refused with a point of small order, or none at all, in its signature`, (tally) =>
    target.tryAll(tally, table(points), { of: origin }),
  );
}

const lengths: [string, Change][] = [
  ...[0, 1, 31, 32, 33, 62, 63].map((length): [string, Change] => [
    `cut to ${length} bytes`,
    (signature) => signature.subarray(0, length),
  ]),
  ...[1, 2, 32, 50, 64].map((more): [string, Change] => [
    `with ${more} zero bytes after`,
    (signature) => Buffer.concat([signature, Buffer.alloc(more)]),
  ]),
  ['with a zero byte before', (signature) => Buffer.concat([Buffer.alloc(1), signature])],
  ['twice', (signature) => Buffer.concat([signature, signature])],
  ['without its first byte', (signature) => signature.subarray(1)],
  ['as ASN.1', (signature) => Buffer.concat([Buffer.from('3044022000', 'hex'), signature])],
];
const shuffled: [string, Change][] = [
  ['S before R', (signature) => Buffer.concat(halves(signature).reverse())],
  ['R twice', (signature) => Buffer.concat([halves(signature)[0], halves(signature)[0]])],
  ['S twice', (signature) => Buffer.concat([halves(signature)[1], halves(signature)[1]])],
  ['all bytes reversed', (signature) => Buffer.from(signature).reverse()],
  [
    'each half reversed',
    (signature) => Buffer.concat(halves(signature).map((half) => Buffer.from(half).reverse())),
  ],
  ['all bits turned', (signature) => signature.map((byte) => byte ^ 0xff) as Buffer],
  ['zeros', () => Buffer.alloc(64)],
  ['ones', () => Buffer.alloc(64, 0xff)],
  ['text', () => Buffer.from('castellan'.repeat(8).slice(0, 64))],
];
const misdirected: [string, Change][] = [
  ['of nothing', signing(() => '')],
  ['of one dot', signing(() => '.')],
  ['of the header alone', signing((base) => encode(base.header))],
  ['of the payload alone', signing((base) => encode(base.payload))],
  ['of the payload before the header', signing((base) => `${encode(base.payload)}.${encode(base.header)}`)],
  ['of header and payload without the dot', signing((base) => inputOf(base).replace('.', ''))],
  ['of both parts decoded', signing((base) => `${base.header}.${base.payload}`)],
  ['of one more dot', signing((base) => `${inputOf(base)}.`)],
  ['of the whole token', signing((base) => base.token)],
  ['of a line end after', signing((base) => `${inputOf(base)}\n`)],
  ['of its SHA-256', signing((base) => createHash('sha256').update(inputOf(base)).digest())],
  ['of its SHA-512', signing((base) => createHash('sha512').update(inputOf(base)).digest())],
  [
    'of other claims',
    signing((base) => `${encode(base.header)}.${encode(withMembers(base.payload, { iat: 1 }))}`),
  ],
  [
    'of the other kind of token',
    (_, base) => target.bases[base.kind === 'access' ? 'refresh' : 'access'].signature,
  ],
  ['by a stranger', (_, base) => signBytes(null, Buffer.from(inputOf(base)), stranger.ed25519.privateKey)],
  [
    'by the key of 32 zero bytes',
    (_, base) => signBytes(null, Buffer.from(inputOf(base)), seededKey(Buffer.alloc(32))),
  ],
  [
    'by our public key as a seed',
    (_, base) => signBytes(null, Buffer.from(inputOf(base)), seededKey(rawOf(base))),
  ],
  ['by Ed448', (_, base) => signBytes(null, Buffer.from(inputOf(base)), stranger.ed448.privateKey)],
  [
    'by P-256',
    (_, base) =>
      signBytes('sha256', Buffer.from(inputOf(base)), {
        key: stranger.p256.privateKey,
        dsaEncoding: 'ieee-p1363',
      }),
  ],
  [
    'that is an HMAC by our public key',
    (_, base) => createHmac('sha512', rawOf(base)).update(inputOf(base)).digest(),
  ],
];

for (const origin of ['issued', 'unlisted'] as const) {
  const what = origin === 'issued' ? 'an issued token' : 'a token that our key signed';
  scenario(`${what} is refused with a signature of another length or order`, (tally) =>
    target.tryAll(tally, table([...lengths, ...shuffled]), { of: origin }),
  );
  scenario(`${what} is refused with a signature of something else or by another key`, (tally) =>
    target.tryAll(tally, table(misdirected), { of: origin }),
  );
}

scenario('a token with any one bit of its signature flipped is refused', async (tally) => {
  const step = rounds(8, 1);
  const bits = Array.from({ length: 512 / step }, (_, index) => index * step + (index % step));
  const rows = bits.map((bit): [string, Change] => [
    `bit ${bit} turned`,
    (signature) => flipped(signature, bit),
  ]);
  for (const origin of ['issued', 'unlisted'] as const)
    await target.tryAll(tally, table(rows), { of: origin, byTurns: true });
});

scenario(
  'a token with a small-order key in its header, which fits every signature, is refused',
  async (tally) => {
    const rows = smallOrder.map(
      (point): Forgery => ({
        name: point.toString('hex'),
        make: (base) => {
          const { x } = rawPublicKey(point).export({ format: 'jwk' });
          const thumbprint = createHash('sha256')
            .update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`)
            .digest('base64url');
          const header = withMembers(base.header, {
            kid: thumbprint,
            jwk: { kty: 'OKP', crv: 'Ed25519', x },
          });
          return `${encode(header)}.${encode(base.payload)}.${encode(Buffer.concat([point, Buffer.alloc(32)]))}`;
        },
      }),
    );
    await target.tryAll(tally, rows);
  },
);

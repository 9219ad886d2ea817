// Forged headers: another algorithm, an embedded key, a `kid` that points elsewhere, extensions, another `typ`.
// It must not try altered claims or spellings: see claims.test.ts and spellings.test.ts.
import { generateKeyPairSync, type KeyObject, sign as signBytes } from 'node:crypto';
import { after } from 'node:test';
import { scenariosOf } from '@castellan/testing/scenario';
import { type Base, encode, maced, sealed, stranger, withMembers } from './forge.ts';
import { type Forgery, openForgeryTarget } from './forgery-target.ts';

const scenario = scenariosOf('tokens');
const target = await openForgeryTarget({ after });

const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' });
const pemOf = (key: KeyObject) => key.export({ format: 'pem', type: 'spki' }) as string;

const nones = ['none', 'None', 'NONE', 'nOnE', 'none ', ' none', 'none\u0000', 'noné', '', 'null'];
const unsigned: Forgery[] = nones.flatMap((alg) => {
  const header = (base: Base): string => withMembers(base.header, { alg });
  const name = `alg ${JSON.stringify(alg)}`;
  return [
    { name: `${name} without signature`, make: (base) => `${encode(header(base))}.${encode(base.payload)}.` },
    { name: `${name} without last dot`, make: (base) => `${encode(header(base))}.${encode(base.payload)}` },
    {
      name: `${name} with the old signature`,
      make: (base) => `${encode(header(base))}.${encode(base.payload)}.${encode(base.signature)}`,
    },
    { name: `${name}, signed by our key`, make: (base) => sealed(base, header(base)) },
  ];
});

scenario('an unsigned token is refused in every spelling of "none"', (tally) =>
  target.tryAll(tally, unsigned),
);

const secrets: [string, (base: Base) => string | Buffer][] = [
  ['nothing', () => ''],
  ['one zero byte', () => Buffer.alloc(1)],
  ['our public key, raw', (base) => Buffer.from(jwkOf(base.publicKey).x ?? '', 'base64url')],
  ['our public key as base64url', (base) => jwkOf(base.publicKey).x ?? ''],
  ['our public key as DER', (base) => base.publicKey.export({ format: 'der', type: 'spki' })],
  ['our public key as PEM', (base) => pemOf(base.publicKey)],
  ['our public key as PEM without line end', (base) => pemOf(base.publicKey).trim()],
  ['our public key as PEM with CRLF', (base) => pemOf(base.publicKey).replaceAll('\n', '\r\n')],
  ['our public key as a JWK', (base) => JSON.stringify(jwkOf(base.publicKey))],
  ['our key id', (base) => base.kid],
  ['a guessable word', () => 'secret'],
];
const confused: Forgery[] = secrets.flatMap(([what, secret]) =>
  (['256', '384', '512'] as const).flatMap((bits) => [
    {
      name: `HS${bits} keyed with ${what}`,
      make: (base) => maced(base, `sha${bits}`, secret(base), withMembers(base.header, { alg: `HS${bits}` })),
    },
    {
      name: `an HMAC of ${bits} bits keyed with ${what} behind our own header`,
      make: (base) => maced(base, `sha${bits}`, secret(base), base.header),
    },
  ]),
);

scenario('a MAC keyed with public values is refused', (tally) => target.tryAll(tally, confused));

const otherNames = [
  ...['HS256', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'ES256K'],
  ...['Ed25519', 'Ed448', 'eddsa', 'EDDSA', 'EdDSA ', 'EdDSA\u0000', 'ЕdDSA', 'ML-DSA-44', 'dir', 'RSA1_5'],
];
const foreignSignatures: [string, (input: Buffer) => Buffer][] = [
  ['RS256', (input) => signBytes('sha256', input, stranger.rsa.privateKey)],
  ['PS256', (input) => signBytes('sha256', input, { key: stranger.rsa.privateKey, padding: 6 })],
  [
    'ES256',
    (input) => signBytes('sha256', input, { key: stranger.p256.privateKey, dsaEncoding: 'ieee-p1363' }),
  ],
  ['ES256', (input) => signBytes('sha256', input, stranger.p256.privateKey)],
  [
    'ES384',
    (input) => signBytes('sha384', input, { key: stranger.p384.privateKey, dsaEncoding: 'ieee-p1363' }),
  ],
  ['Ed448', (input) => signBytes(null, input, stranger.ed448.privateKey)],
  ['EdDSA', (input) => signBytes(null, input, stranger.ed448.privateKey)],
  ['EdDSA', (input) => signBytes(null, input, stranger.ed25519.privateKey)],
  // CVE-2022-21449: r = s = 0.
  ['ES256', () => Buffer.alloc(64)],
];
const renamed: Forgery[] = [
  ...otherNames.map((alg) => ({
    name: `alg ${JSON.stringify(alg)}, signed by our key`,
    make: (base: Base) => sealed(base, withMembers(base.header, { alg })),
  })),
  ...[null, 0, true, ['EdDSA'], { name: 'EdDSA' }, undefined].map((alg) => ({
    name: `alg ${JSON.stringify(alg) ?? 'left out'}, signed by our key`,
    make: (base: Base) => sealed(base, withMembers(base.header, { alg })),
  })),
  ...foreignSignatures.map(([alg, sign], index) => ({
    name: `${alg} by another key (${index})`,
    make: (base: Base) => {
      const signed = `${encode(withMembers(base.header, { alg }))}.${encode(base.payload)}`;
      return `${signed}.${encode(sign(Buffer.from(signed)))}`;
    },
  })),
];

scenario('only our own algorithm, with its exact name, is accepted, whichever key signed', (tally) =>
  target.tryAll(tally, renamed),
);

const own = stranger.ed25519;
const certificate = encode(own.publicKey.export({ format: 'der', type: 'spki' }));
const embedded: [string, Record<string, unknown>][] = [
  ['jwk', { jwk: jwkOf(own.publicKey) }],
  ['jwk with the private part', { jwk: jwkOf(own.privateKey) }],
  ['jwk with our kid', { jwk: { ...jwkOf(own.publicKey), kid: 'ours' } }],
  ['jwk of a small-order point', { jwk: { kty: 'OKP', crv: 'Ed25519', x: encode(Buffer.alloc(32)) } }],
  ['jwk that is symmetric', { jwk: { kty: 'oct', k: 'AA' } }],
  ['jku', { jku: 'https://keys.invalid/jwks.json' }],
  ['jku of this machine', { jku: 'http://127.0.0.1:9/jwks.json' }],
  ['jku of our own host before an at sign', { jku: 'http://castellan.test@keys.invalid/jwks.json' }],
  ['jku that is a file', { jku: 'file:///etc/passwd' }],
  ['x5u', { x5u: 'https://keys.invalid/cert.pem' }],
  ['x5c', { x5c: [certificate] }],
  ['x5t', { x5t: 'AAAAAAAAAAAAAAAAAAAAAAAAAAA' }],
  ['x5t#S256', { 'x5t#S256': encode(Buffer.alloc(32)) }],
  ['keys', { keys: [jwkOf(own.publicKey)] }],
];
const brought: Forgery[] = embedded.flatMap(([what, members]) => [
  {
    name: `${what}, signed by the key it brings`,
    make: (base) => sealed(base, withMembers(base.header, members), base.payload, own.privateKey),
  },
  {
    name: `${what} without kid, signed by the key it brings`,
    make: (base) =>
      sealed(base, withMembers(base.header, { ...members, kid: undefined }), base.payload, own.privateKey),
  },
  { name: `${what}, signed by our key`, make: (base) => sealed(base, withMembers(base.header, members)) },
]);

scenario('a token that brings or points to its own key is refused', (tally) => target.tryAll(tally, brought));

const kids: unknown[] = [
  ...[undefined, null, '', ' ', 'unknown', '0', 'null', '*', '%', '_', '.', '..', '/dev/null', '\\', '|id'],
  ...['../../../../dev/null', '..%2f..%2fdev%2fnull', 'file:///dev/null', 'C:\\Windows\\win.ini'],
  ...["' or '1'='1", "' union select 'AA' --", '" or ""="', "'; drop table signing_keys; --", '$1'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', 'size', 'get'],
  ...[0, -1, 1e9, true, [], ['__proto__'], {}, { toString: 'x' }, '\u0000', 'кid', '\ud83d\udd11'],
  ...['k'.repeat(64), 'k'.repeat(65), 'k'.repeat(1_000), encode(Buffer.alloc(32))],
];
const kidded: Forgery[] = [
  ...kids.flatMap((kid) => {
    const name = `kid ${JSON.stringify(kid)?.slice(0, 40) ?? 'left out'}`;
    const header = (base: Base): string => withMembers(base.header, { kid });
    return [
      { name: `${name}, signed by our key`, make: (base: Base) => sealed(base, header(base)) },
      {
        name: `${name}, signed by another key`,
        make: (base: Base) => sealed(base, header(base), base.payload, own.privateKey),
      },
    ];
  }),
  ...[
    ['our kid in an array', (kid: string) => [kid]],
    ['our kid in lower case', (kid: string) => `${kid.toLowerCase()}k`],
    ['our kid after a space', (kid: string) => ` ${kid}`],
    ['our kid and a NUL', (kid: string) => `${kid}\u0000`],
    ['our kid as a path', (kid: string) => `./${kid}`],
    ['our kid cut', (kid: string) => kid.slice(0, -1)],
  ].map(([name, change]) => ({
    name: name as string,
    make: (base: Base) =>
      sealed(base, withMembers(base.header, { kid: (change as (kid: string) => unknown)(base.kid) })),
  })),
  {
    name: 'our kid, signed by another key',
    make: (base) => sealed(base, base.header, base.payload, own.privateKey),
  },
  {
    name: 'our kid, signed by a key made this moment',
    make: (base) => sealed(base, base.header, base.payload, generateKeyPairSync('ed25519').privateKey),
  },
];

scenario('a kid must be the whole name of one of our keys, otherwise the token is refused', (tally) =>
  target.tryAll(tally, kidded),
);

const extensions: Record<string, unknown>[] = [
  ...[['exp'], ['b64'], ['unknown'], [], ['alg'], ['crit'], 'exp', null, 0, {}].map((crit) => ({ crit })),
  { b64: false },
  { b64: false, crit: ['b64'] },
  { b64: true, crit: ['b64'] },
  { unknown: true, crit: ['unknown'] },
  { zip: 'DEF' },
  { zip: null },
  { enc: 'A256GCM' },
  { alg: 'dir', enc: 'A256GCM' },
  { cty: 'JWT' },
  { cty: 'at+jwt' },
  { iss: 'http://castellan.test' },
  { exp: 9_999_999_999 },
  { nonce: 'x' },
  { ppt: 'shaken' },
  { svt: 'x' },
  { url: '/' },
  { 'http://openid.net/alg': 'none' },
];
const extended: Forgery[] = extensions.map((members) => ({
  name: `a header with ${JSON.stringify(members)}, signed by our key`,
  make: (base) => sealed(base, withMembers(base.header, members)),
}));

scenario('a header with any member that we do not write is refused', (tally) =>
  target.tryAll(tally, extended),
);

const types: unknown[] = [
  ...[undefined, null, '', 'JWT', 'jwt', 'JOSE', 'at_jwt', 'at jwt', 'jwt+at', 'id+jwt', 'logout+jwt'],
  ...['at+JWT', 'AT+JWT', 'RT+JWT', 'application/at+jwt', 'application/rt+jwt', 'application/jwt'],
  ...['at+jwt;charset=utf-8', 'at+jwt ', 'at+jwt\u0000', 'dpop+jwt', 'secevent+jwt', 0, true, ['at+jwt'], {}],
];
const typed: Forgery[] = [
  ...types.map((typ) => ({
    name: `typ ${JSON.stringify(typ) ?? 'left out'}, signed by our key`,
    make: (base: Base) => sealed(base, withMembers(base.header, { typ })),
  })),
  {
    name: 'the typ of the other kind, signed by our key',
    make: (base) =>
      sealed(base, withMembers(base.header, { typ: base.kind === 'access' ? 'rt+jwt' : 'at+jwt' })),
  },
  {
    name: 'the type of the other kind among the claims, signed by our key',
    make: (base) =>
      sealed(
        base,
        base.header,
        withMembers(base.payload, { type: base.kind === 'access' ? 'refresh' : 'access' }),
      ),
  },
];

scenario('a token of another typ is refused, although our key signed it', (tally) =>
  target.tryAll(tally, typed),
);

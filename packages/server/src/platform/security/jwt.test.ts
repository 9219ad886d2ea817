// Tests signing and verification of tokens: time, issuer, audience, kind, and claims of unverified tokens.
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID, sign as signBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  createSigner,
  OWN_CLIENT_ID,
  peekClaims,
  type SessionClaims,
  type TokenFault,
  type TokenKind,
  tokenHash,
  verify,
} from './jwt.ts';

const issuer = 'https://accounts.example.com';
const nowSeconds = Date.UTC(2030, 0, 1) / 1000;
const kid = 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k';
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const keys = new Map([[kid, publicKey]]);
const signer = createSigner({ kid, privateKey });

const claimsFor = (type: TokenKind, changes: Partial<SessionClaims> = {}): SessionClaims => ({
  iss: issuer,
  sub: '0b9e9a9e-3c3f-4f0e-9d5a-4f1d1a2b3c4d',
  aud: issuer,
  iat: nowSeconds,
  exp: nowSeconds + 1800,
  jti: '1c9e9a9e-3c3f-4f0e-9d5a-4f1d1a2b3c4d',
  sid: '2d9e9a9e-3c3f-4f0e-9d5a-4f1d1a2b3c4d',
  ...(type === 'access' ? { client_id: OWN_CLIENT_ID } : { nbf: nowSeconds }),
  type,
  ...changes,
});
/** The members of a payload, as the service writes them. */
const order = ['iss', 'sub', 'aud', 'iat', 'nbf', 'exp', 'jti', 'sid', 'client_id', 'type'];
const expected = { issuer, audience: issuer, now: nowSeconds * 1000 };
const check = (token: string, kind: TokenKind = 'access', changes = {}) => {
  const result = verify(token, kind, keys, { ...expected, ...changes });
  return result.ok ? 'accepted' : result.reason;
};

const encode = (text: string) => Buffer.from(text).toString('base64url');
const goodHeader = `{"alg":"EdDSA","typ":"at+jwt","kid":"${kid}"}`;
/** Signs any header and payload with the real key, which an attacker could not do. */
const forge = (header: string, payload: string) => {
  const signed = `${encode(header)}.${encode(payload)}`;
  return `${signed}.${signBytes(null, Buffer.from(signed), privateKey).toString('base64url')}`;
};
const good = signer.sign(claimsFor('access'));
const [header = '', payload = '', signature = ''] = good.split('.');
const goodPayload = Buffer.from(payload, 'base64url').toString();

describe('signing', () => {
  test('a signed token is verified with all its claims', () => {
    for (const kind of ['access', 'refresh'] as const) {
      const claims = claimsFor(kind);
      assert.deepEqual(verify(signer.sign(claims), kind, keys, expected), { ok: true, claims });
    }
  });

  test('equal claims give equal bytes, in any order and with another signer of the same key', () => {
    const claims = claimsFor('refresh');
    const reordered = Object.fromEntries(Object.entries(claims).reverse()) as unknown as SessionClaims;
    const token = signer.sign(claims);
    assert.equal(signer.sign(claims), token);
    assert.equal(signer.sign({ ...reordered }), token);
    assert.equal(createSigner({ kid, privateKey }).sign(claims), token);
    assert.notEqual(signer.sign({ ...claims, jti: randomUUID() }), token);
  });

  test('the header and the payload contain the documented members only', () => {
    assert.equal(Buffer.from(header, 'base64url').toString(), goodHeader);
    const refresh = signer.sign(claimsFor('refresh')).split('.')[0] ?? '';
    assert.equal(Buffer.from(refresh, 'base64url').toString(), goodHeader.replace('at+jwt', 'rt+jwt'));
    const extra = { ...claimsFor('access'), roles: ['Admin'] };
    assert.equal(signer.sign(extra), good);
  });

  test('a signer refuses keys of another kind, odd kids, bad claims and oversized tokens', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    assert.throws(() => createSigner({ kid, privateKey: rsa.privateKey }), TypeError);
    assert.throws(() => createSigner({ kid, privateKey: publicKey }), TypeError);
    for (const odd of ['', 'a"b', 'a b', '../x', 'x'.repeat(65)]) {
      assert.throws(() => createSigner({ kid: odd, privateKey }), TypeError);
    }
    assert.throws(() => signer.sign(claimsFor('access', { sub: 'ann' })), TypeError);
    assert.throws(() => signer.sign(claimsFor('access', { exp: nowSeconds + 0.5 })), TypeError);
    assert.throws(() => signer.sign(claimsFor('access', { iss: `https://${'x'.repeat(2000)}` })), RangeError);
  });

  test('all signed claims can be verified', () => {
    const seconds = fc.integer({ min: 0, max: 2 ** 33 });
    const uuid = fc.uuid();
    fc.assert(
      fc.property(fc.record({ sub: uuid, jti: uuid, sid: uuid }), seconds, fc.webUrl(), (ids, iat, iss) => {
        fc.pre(iss.length < 500);
        const claims = claimsFor('access', {
          ...ids,
          iat,
          exp: iat + 1,
          iss,
          aud: `${iss}/x`,
        });
        const result = verify(signer.sign(claims), 'access', keys, {
          issuer: iss,
          audience: `${iss}/x`,
          now: iat * 1000,
        });
        assert.deepEqual(result, { ok: true, claims });
      }),
    );
  });
});

describe('the forms of a token', () => {
  const { client_id: _id, ...withoutClient } = claimsFor('access');
  const { sid: _sid, ...withoutSession } = claimsFor('access');
  const ofAccount = { ...withoutSession, client_id: withoutClient.sub };
  const nbf = nowSeconds;
  const forms: [name: string, kind: TokenKind, claims: object, outcome: TokenFault | 'accepted'][] = [
    ['a user', 'access', claimsFor('access'), 'accepted'],
    ['a user, of version 0.2', 'access', { ...withoutClient, nbf }, 'accepted'],
    ['a service account', 'access', ofAccount, 'accepted'],
    ['a service account, of version 0.2', 'access', { ...ofAccount, nbf }, 'accepted'],
    ['a refresh token', 'refresh', claimsFor('refresh'), 'accepted'],
    ['a refresh token without nbf', 'refresh', { ...withoutClient, type: 'refresh' }, 'malformed'],
    [
      'a refresh token with client_id',
      'refresh',
      { ...claimsFor('access'), nbf, type: 'refresh' },
      'malformed',
    ],
    ['a user of another client', 'access', { ...withoutClient, client_id: 'other' }, 'malformed'],
    ['a user and a service account', 'access', { ...withoutClient, client_id: ofAccount.sub }, 'malformed'],
    ['neither sid nor client_id', 'access', { ...withoutSession, client_id: undefined }, 'malformed'],
    ['our client without sid', 'access', withoutSession, 'malformed'],
    [
      'a service account of another id',
      'access',
      { ...ofAccount, client_id: claimsFor('access').sid },
      'malformed',
    ],
  ];
  for (const [name, kind, claims, outcome] of forms)
    test(`${name}: ${outcome}`, () => {
      const header = kind === 'access' ? goodHeader : goodHeader.replace('at+', 'rt+');
      assert.equal(check(forge(header, JSON.stringify(claims, order)), kind), outcome);
    });

  test('nbf of version 0.2 counts, with the tolerance of a minute', () => {
    const at = (seconds: number) => check(signer.sign({ ...withoutClient, nbf: nowSeconds + seconds }));
    assert.deepEqual([at(60), at(61)], ['accepted', 'not_yet_valid']);
  });
});

describe('time, issuer, audience, kind', () => {
  const signed = (changes: Partial<SessionClaims>) => signer.sign(claimsFor('access', changes));
  const rows: [name: string, outcome: TokenFault | 'accepted', actual: () => string][] = [
    [
      'the last millisecond before exp',
      'accepted',
      () => check(good, 'access', { now: expected.now + 1_799_999 }),
    ],
    ['at exp', 'expired', () => check(good, 'access', { now: expected.now + 1_800_000 })],
    ['long after exp', 'expired', () => check(good, 'access', { now: expected.now * 2 })],
    ['iat a minute ahead', 'accepted', () => check(signed({ iat: nowSeconds + 60 }))],
    ['iat further ahead', 'not_yet_valid', () => check(signed({ iat: nowSeconds + 61 }))],
    ['another issuer', 'wrong_issuer', () => check(good, 'access', { issuer: `${issuer}/` })],
    ['another audience', 'wrong_audience', () => check(good, 'access', { audience: `${issuer}/refresh` })],
    ['an access token as refresh token', 'wrong_type', () => check(good, 'refresh')],
    [
      'a refresh token as access token',
      'wrong_type',
      () => check(signer.sign(claimsFor('refresh')), 'access'),
    ],
    [
      'a refresh header over access claims, properly signed',
      'wrong_type',
      () => check(forge(goodHeader.replace('at+', 'rt+'), goodPayload), 'refresh'),
    ],
    [
      'an access header over refresh claims, properly signed',
      'wrong_type',
      () => check(forge(goodHeader, JSON.stringify(claimsFor('refresh'), order))),
    ],
  ];
  for (const [name, outcome, actual] of rows)
    test(`${name}: ${outcome}`, () => assert.equal(actual(), outcome));
});

describe('routing by unverified claims', () => {
  const { sub, jti, sid } = claimsFor('access');

  test('peekClaims returns user, id and session of a token, and also of a forged one', () => {
    assert.deepEqual(peekClaims(good), { sub, jti, sid });
    assert.deepEqual(peekClaims(`${header}.${payload}.${'A'.repeat(86)}`), { sub, jti, sid });
  });

  test('malformed ids are omitted, and a malformed sub gives null', () => {
    const peek = (claims: object) => peekClaims(`${header}.${encode(JSON.stringify(claims))}.${signature}`);
    assert.deepEqual(peek({ sub }), { sub });
    assert.deepEqual(peek({ sub, jti: 'x', sid: 1 }), { sub });
    assert.deepEqual(peek({ sub, jti, sid: null }), { sub, jti });
    assert.equal(peek({ jti, sid }), null);
    assert.equal(peek({ sub: sub.toUpperCase() }), null);
    assert.equal(peek({ sub: `${sub}' OR 1=1` }), null);
    assert.equal(peek([sub]), null);
    assert.equal(peek({ sub: [sub] }), null);
  });

  test('a text that is no token gives null', () => {
    const rows = [
      '',
      '.',
      '..',
      'a.b.c',
      header,
      `${header}.${payload}`,
      `${good}.x`,
      `${good} `,
      'a'.repeat(5e6),
    ];
    rows.push(
      `${header}.${'A'.repeat(2048)}.${signature}`,
      `${header}.%%%.${signature}`,
      `.${payload}.${signature}`,
    );
    for (const row of rows) assert.equal(peekClaims(row), null, row.slice(0, 80));
  });
});

test('the hash is SHA-256 of the exact text', () => {
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
  assert.equal(tokenHash('').toString('hex'), empty);
  assert.equal(tokenHash(good).length, 32);
  assert.notDeepEqual(tokenHash(good), tokenHash(`${good}=`));
});

// Tests that forged tokens are refused: only bytes that this service signed, for this purpose and in this spelling,
// pass.
import assert from 'node:assert/strict';
import { createHmac, createPublicKey, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  createSigner,
  OWN_CLIENT_ID,
  peekClaims,
  type SessionClaims,
  type TokenFault,
  type TokenKind,
  verify,
} from './jwt.ts';

const issuer = 'https://accounts.example.com';
const nowSeconds = Date.UTC(2030, 0, 1) / 1000;
const kid = 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k';
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const stranger = generateKeyPairSync('ed25519');
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
const expected = { issuer, audience: issuer, now: nowSeconds * 1000 };
const check = (token: string) => {
  const result = verify(token, 'access', keys, expected);
  return result.ok ? 'accepted' : result.reason;
};

const encode = (text: string) => Buffer.from(text).toString('base64url');
const goodHeader = `{"alg":"EdDSA","typ":"at+jwt","kid":"${kid}"}`;
/** Signs any header and payload with the real key, which an attacker could not do. */
const forge = (header: string, payload: string, key = privateKey) => {
  const signed = `${encode(header)}.${encode(payload)}`;
  return `${signed}.${signBytes(null, Buffer.from(signed), key).toString('base64url')}`;
};
const good = signer.sign(claimsFor('access'));
const [header = '', payload = '', signature = ''] = good.split('.');
const goodPayload = Buffer.from(payload, 'base64url').toString();

describe('forgeries', () => {
  const publicPem = publicKey.export({ format: 'pem', type: 'spki' });
  const publicJwk = JSON.stringify(stranger.publicKey.export({ format: 'jwk' }));
  const hmacToken = (text: string, secret: string | Buffer) => {
    const signed = `${encode(text)}.${payload}`;
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  };
  const withHeader = (text: string) => `${encode(text)}.${payload}.${signature}`;
  const altered = (from: string, to: string) =>
    `${header}.${encode(goodPayload.replace(from, to))}.${signature}`;
  const spare = (part: string) => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    return part.slice(0, -1) + alphabet[alphabet.indexOf(part.at(-1) ?? '') + 1];
  };
  const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n;
  const secondSignature = () => {
    const bytes = Buffer.from(signature, 'base64url');
    const s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + groupOrder;
    const moved = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse();
    return Buffer.concat([bytes.subarray(0, 32), moved]).toString('base64url');
  };

  const rows: [name: string, token: string, reason: TokenFault][] = [
    ['alg none without signature', `${encode('{"alg":"none"}')}.${payload}.`, 'malformed'],
    ['alg none in our header', withHeader(goodHeader.replace('EdDSA', 'none')), 'malformed'],
    ['alg NONE, properly signed', forge(goodHeader.replace('EdDSA', 'NONE'), goodPayload), 'malformed'],
    ['our header, empty signature', `${header}.${payload}.`, 'malformed'],
    ['our header, zero signature', `${header}.${payload}.${'A'.repeat(86)}`, 'bad_signature'],
    [
      'HS256 with the public key as PEM',
      hmacToken(goodHeader.replace('EdDSA', 'HS256'), publicPem),
      'malformed',
    ],
    ['HS256 with an empty secret', hmacToken(goodHeader.replace('EdDSA', 'HS256'), ''), 'malformed'],
    ['HS256 behind our header', hmacToken(goodHeader, publicPem), 'malformed'],
    ['alg in lower case', forge(goodHeader.replace('EdDSA', 'eddsa'), goodPayload), 'malformed'],
    ['alg Ed25519 (RFC 9864)', forge(goodHeader.replace('EdDSA', 'Ed25519'), goodPayload), 'malformed'],
    ['a key of a stranger', forge(goodHeader, goodPayload, stranger.privateKey), 'bad_signature'],
    [
      'an embedded jwk with its own key',
      forge(goodHeader.replace('}', `,"jwk":${publicJwk}}`), goodPayload, stranger.privateKey),
      'malformed',
    ],
    ['a jku', forge(goodHeader.replace('}', ',"jku":"https://evil.example"}'), goodPayload), 'malformed'],
    ['an x5u', forge(goodHeader.replace('}', ',"x5u":"https://evil.example"}'), goodPayload), 'malformed'],
    ['a crit', forge(goodHeader.replace('}', ',"crit":["exp"]}'), goodPayload), 'malformed'],
    ['a b64', forge(goodHeader.replace('}', ',"b64":false}'), goodPayload), 'malformed'],
    ['a zip', forge(goodHeader.replace('}', ',"zip":"DEF"}'), goodPayload), 'malformed'],
    ['no kid', forge('{"alg":"EdDSA","typ":"at+jwt"}', goodPayload), 'malformed'],
    ['an empty kid', forge(goodHeader.replace(kid, ''), goodPayload), 'malformed'],
    ['an unknown kid', forge(goodHeader.replace(kid, 'other'), goodPayload), 'unknown_key'],
    ['a kid of the prototype', forge(goodHeader.replace(kid, '__proto__'), goodPayload), 'unknown_key'],
    ['a kid named constructor', forge(goodHeader.replace(kid, 'constructor'), goodPayload), 'unknown_key'],
    ['a kid that is a path', forge(goodHeader.replace(kid, '../../dev/null'), goodPayload), 'malformed'],
    ['a kid that is SQL', forge(goodHeader.replace(kid, "' OR 1=1 --"), goodPayload), 'malformed'],
    ['a kid that is a number', forge(goodHeader.replace(`"${kid}"`, '1'), goodPayload), 'malformed'],
    ['a kid with an escape', forge(goodHeader.replace('kPrK', '\\u006bPrK'), goodPayload), 'malformed'],
    ['no typ', forge(`{"alg":"EdDSA","kid":"${kid}"}`, goodPayload), 'malformed'],
    ['typ JWT', forge(goodHeader.replace('at+jwt', 'JWT'), goodPayload), 'wrong_type'],
    ['typ in upper case', forge(goodHeader.replace('at+jwt', 'AT+JWT'), goodPayload), 'wrong_type'],
    [
      'typ with media type prefix',
      forge(goodHeader.replace('at+', 'application/at+'), goodPayload),
      'malformed',
    ],
    [
      'header members in another order',
      forge(`{"typ":"at+jwt","alg":"EdDSA","kid":"${kid}"}`, goodPayload),
      'malformed',
    ],
    ['white space in the header', forge(goodHeader.replace(',', ', '), goodPayload), 'malformed'],
    ['a line break after the header', forge(`${goodHeader}\n`, goodPayload), 'malformed'],
    ['a header key twice', forge(goodHeader.replace('{', '{"alg":"none",'), goodPayload), 'malformed'],
    [
      'a payload key twice, properly signed',
      forge(goodHeader, goodPayload.replace('{', '{"sub":"x",')),
      'malformed',
    ],
    [
      'an extra claim, properly signed',
      forge(goodHeader, goodPayload.replace('}', ',"admin":true}')),
      'malformed',
    ],
    ['white space in the payload, properly signed', forge(goodHeader, ` ${goodPayload}`), 'malformed'],
    ['no JSON, properly signed', forge(goodHeader, 'sub=ann'), 'malformed'],
    ['JSON null, properly signed', forge(goodHeader, 'null'), 'malformed'],
    ['a JSON array, properly signed', forge(goodHeader, `[${goodPayload}]`), 'malformed'],
    ['another sub', altered('0b9e9a9e', '0b9e9a9f'), 'bad_signature'],
    ['another jti', altered('1c9e9a9e', '1c9e9a9f'), 'bad_signature'],
    ['a later exp', altered(`"exp":${nowSeconds + 1800}`, `"exp":${nowSeconds + 9999}`), 'bad_signature'],
    ['a payload key twice, unsigned', altered('{', '{"sub":"x",'), 'bad_signature'],
    ['another payload under the signature', `${header}.${encode('{}')}.${signature}`, 'bad_signature'],
    [
      'the signature of another token',
      `${header}.${payload}.${signer.sign(claimsFor('refresh')).split('.')[2]}`,
      'bad_signature',
    ],
    [
      'the second spelling of the signature value',
      `${header}.${payload}.${secondSignature()}`,
      'bad_signature',
    ],
    ['spare bits in the signature text', `${header}.${payload}.${spare(signature)}`, 'malformed'],
    ['a shortened signature', good.slice(0, -1), 'malformed'],
    ['a shortened payload', `${header}.${payload.slice(0, -4)}.${signature}`, 'bad_signature'],
    ['two parts', `${header}.${payload}`, 'malformed'],
    ['one part', header, 'malformed'],
    ['four parts', `${good}.${signature}`, 'malformed'],
    ['five parts (JWE)', `${good}.${payload}.${signature}`, 'malformed'],
    ['an empty header', `.${payload}.${signature}`, 'malformed'],
    ['an empty payload', `${header}..${signature}`, 'malformed'],
    ['dots only', '..', 'malformed'],
    ['nothing', '', 'malformed'],
    ['padding', `${good}==`, 'malformed'],
    ['padding in the header', `${header}=.${payload}.${signature}`, 'malformed'],
    ['padding in the payload', `${header}.${payload}=.${signature}`, 'bad_signature'],
    ['a space before', ` ${good}`, 'malformed'],
    ['a space after', `${good} `, 'malformed'],
    ['a line break within', `${header}.${payload}\n.${signature}`, 'bad_signature'],
    ['a NUL at the end', `${good}\0`, 'malformed'],
    ['the JSON serialization', JSON.stringify({ protected: header, payload, signature }), 'malformed'],
    ['oversized', `${header}.${'A'.repeat(2048)}.${signature}`, 'malformed'],
    ['megabytes', 'a'.repeat(5e6), 'malformed'],
    ['megabytes of dots', '.'.repeat(5e6), 'malformed'],
  ];
  for (const [name, token, reason] of rows) {
    test(`${name}: ${reason}`, () => assert.equal(check(token), reason));
  }

  const wrongClaims: [claim: keyof SessionClaims, value: unknown][] = [
    ['iss', ''],
    ['iss', [issuer]],
    ['aud', [issuer]],
    ['aud', null],
    ['sub', 'ann'],
    ['sub', '0B9E9A9E-3C3F-4F0E-9D5A-4F1D1A2B3C4D'],
    ['sub', `0b9e9a9e-3c3f-4f0e-9d5a-4f1d1a2b3c4d\n`],
    ['jti', 7],
    ['sid', { toString: 'x' }],
    ['iat', `${nowSeconds}`],
    ['client_id', 'other'],
    ['client_id', null],
    ['client_id', [OWN_CLIENT_ID]],
    ['exp', nowSeconds + 0.5],
    ['exp', 1e300],
    ['exp', null],
    ['exp', true],
    ['type', 'admin'],
    ['type', ['access']],
  ];
  for (const [claim, value] of wrongClaims) {
    test(`${claim} = ${JSON.stringify(value)}, properly signed: malformed`, () => {
      assert.equal(
        check(forge(goodHeader, JSON.stringify({ ...claimsFor('access'), [claim]: value }))),
        'malformed',
      );
    });
  }
  // A token without client_id is one of version 0.2.
  for (const claim of Object.keys(claimsFor('access')).filter((one) => one !== 'client_id')) {
    test(`no ${claim}, properly signed: malformed`, () => {
      assert.equal(
        check(forge(goodHeader, JSON.stringify({ ...claimsFor('access'), [claim]: undefined }))),
        'malformed',
      );
    });
  }

  test('no single changed character of a token is accepted', () => {
    for (let index = 0; index < good.length; index++) {
      for (const other of ['A', 'z', '-', '_', '+', '/', '=', ' ', 'é']) {
        if (good[index] === other) continue;
        assert.notEqual(
          check(good.slice(0, index) + other + good.slice(index + 1)),
          'accepted',
          `${index} ${other}`,
        );
      }
    }
  });

  test('verification of any text neither throws nor succeeds', () => {
    const part = fc.oneof(
      fc.string(),
      fc.base64String(),
      fc.json().map(encode),
      fc.constantFrom(header, payload, signature),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), (parts) => {
        const token = parts.join('.');
        if (token !== good) assert.notEqual(check(token), 'accepted');
        peekClaims(token);
      }),
      { numRuns: 1000 },
    );
  });

  test('a key that is not Ed25519 throws and never verifies', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    for (const key of [rsa.publicKey, privateKey]) {
      assert.throws(() => verify(good, 'access', new Map([[kid, key]]), expected), TypeError);
    }
    assert.equal(verify(good, 'access', new Map([[kid, createPublicKey(privateKey)]]), expected).ok, true);
  });
});

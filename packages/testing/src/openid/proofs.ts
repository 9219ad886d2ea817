// Keys of applications, and what they sign with them: assertions and other JWTs, right and wrong ones.
// It signs with node:crypto, so that the library which verifies is not its own judge.
import {
  constants,
  createHmac,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomUUID,
  sign,
} from 'node:crypto';
import { watch } from '../secret-watch.ts';

export type ProofAlgorithm = 'ES256' | 'Ed25519' | 'EdDSA' | 'RS256' | 'PS256';
export type ProofKey = { alg: ProofAlgorithm; privateKey: KeyObject; jwk: JsonWebKey; kid: string };

export function newProofKey(alg: ProofAlgorithm, { bits = 2_048 } = {}): ProofKey {
  const { publicKey, privateKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : alg === 'EdDSA' || alg === 'Ed25519'
        ? generateKeyPairSync('ed25519')
        : generateKeyPairSync('rsa', { modulusLength: bits });
  return { alg, privateKey, jwk: publicKey.export({ format: 'jwk' }), kid: randomUUID() };
}

/** Returns the key as an application registers it. */
export const publicKeyOf = ({ jwk, kid }: ProofKey): JsonWebKey & { kid: string } => ({ ...jwk, kid });

export const encodePart = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

function signatureOf({ alg, privateKey }: ProofKey, text: string): Buffer {
  const bytes = Buffer.from(text);
  if (alg === 'EdDSA' || alg === 'Ed25519') return sign(null, bytes, privateKey);
  if (alg === 'ES256') return sign('sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' });
  if (alg === 'RS256') return sign('sha256', bytes, privateKey);
  return sign('sha256', bytes, {
    key: privateKey,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  });
}

/** Returns a JWT. `header` and `claims` may be texts, for JSON that an object cannot be. */
export function signedJwt(key: ProofKey, header: object | string, claims: object | string): string {
  const signed = `${encodePart(header)}.${encodePart(claims)}`;
  const text = `${signed}.${signatureOf(key, signed).toString('base64url')}`;
  watch.note(text, 'signed proof');
  return text;
}

/** Returns a JWT with an HMAC under the bytes, which may be a public key. */
export function hmacJwt(secret: string, header: object, claims: object): string {
  const signed = `${encodePart(header)}.${encodePart(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

export const secondsNow = (): number => Math.floor(Date.now() / 1_000);

/** Returns the claims of an assertion that counts. */
export const assertionClaims = (clientId: string, audience: string, changed: object = {}) => ({
  iss: clientId,
  sub: clientId,
  aud: audience,
  exp: secondsNow() + 300,
  iat: secondsNow(),
  jti: randomUUID(),
  ...changed,
});

/** Returns the fields of a form with this assertion. */
export const assertionFields = (assertion: string): Record<string, string> => ({
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  client_assertion: assertion,
});

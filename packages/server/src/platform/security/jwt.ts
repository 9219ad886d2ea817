// Writes and checks our own tokens: JWTs signed with Ed25519, in one exact spelling, synchronously (the thread pool
// belongs to password hashing). It must not decide whether a token is live: that is the allowlist's part.
import { createHash, type KeyObject, sign as signBytes, verify as verifyBytes } from 'node:crypto';

export type TokenKind = 'access' | 'refresh';

/** Times are whole seconds since 1970 (RFC 7519); `sub`, `jti` and `sid` are lower-case UUIDs. */
export interface TokenClaims {
  iss: string;
  sub: string;
  aud: string;
  iat: number;
  nbf: number;
  exp: number;
  jti: string;
  sid: string;
  type: TokenKind;
}

export type TokenFault =
  | 'malformed'
  | 'unknown_key'
  | 'bad_signature'
  | 'expired'
  | 'not_yet_valid'
  | 'wrong_issuer'
  | 'wrong_audience'
  | 'wrong_type';

export type Verified = { ok: true; claims: TokenClaims } | { ok: false; reason: TokenFault };

/** `now` is in milliseconds since 1970, like every clock here. */
export interface Expectations {
  issuer: string;
  audience: string;
  now: number;
}

const maxTokenLength = 2048; // ours have about 550 characters; leaves room for a long PUBLIC_URL
const signatureLength = 86; // 64 bytes in base64url
const maxClockSkewMs = 60 * 1000; // the instance that signed may be ahead of the one that checks

const headerTypes = { access: 'at+jwt', refresh: 'rt+jwt' } as const; // RFC 9068; the second by analogy
const kidPattern = /^[\w-]{1,64}$/; // an RFC 7638 thumbprint has 43 characters
const headerPattern = /^\{"alg":"EdDSA","typ":"([\w+-]{1,32})","kid":"([\w-]{1,64})"\}$/;
const uuidPattern = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

const encode = (text: string): string => Buffer.from(text).toString('base64url');

/** Undefined unless the text is the one canonical base64url spelling of its bytes. */
function decode(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

const headerOf = (type: string, kid: string): string =>
  encode(`{"alg":"EdDSA","typ":"${type}","kid":"${kid}"}`);

/** The members one by one in fixed order: equal claims give equal bytes. */
function payloadOf(claims: TokenClaims): string {
  const { iss, sub, aud, iat, nbf, exp, jti, sid, type } = claims;
  return JSON.stringify({ iss, sub, aud, iat, nbf, exp, jti, sid, type });
}

type Unchecked = { [claim in keyof TokenClaims]?: unknown };

function parseObject(text: string): Unchecked | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isUuid = (value: unknown): value is string => typeof value === 'string' && uuidPattern.test(value);
const isSeconds = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function isClaims(value: Unchecked): value is TokenClaims {
  return (
    isText(value.iss) &&
    isText(value.aud) &&
    isUuid(value.sub) &&
    isUuid(value.jti) &&
    isUuid(value.sid) &&
    isSeconds(value.iat) &&
    isSeconds(value.nbf) &&
    isSeconds(value.exp) &&
    (value.type === 'access' || value.type === 'refresh')
  );
}

/** The claims, provided that the payload is spelled byte for byte as we spell it: no second key, no stray space. */
function readPayload(part: string): TokenClaims | undefined {
  const text = decode(part)?.toString();
  const value = text === undefined ? undefined : parseObject(text);
  return value && isClaims(value) && payloadOf(value) === text ? value : undefined;
}

function splitToken(token: string): [header: string, payload: string, signature: string] | undefined {
  if (token.length > maxTokenLength) return undefined;
  const first = token.indexOf('.');
  const second = token.indexOf('.', first + 1);
  if (first < 1 || second <= first + 1 || token.length - second - 1 !== signatureLength) return undefined;
  return [token.slice(0, first), token.slice(first + 1, second), token.slice(second + 1)];
}

function checkKey(key: KeyObject, type: 'private' | 'public'): void {
  if (key.type !== type || key.asymmetricKeyType !== 'ed25519')
    throw new TypeError(`not an Ed25519 ${type} key`);
}

/**
 * A signer with one key. The header follows from `claims.type`. Equal claims give the same token to the byte, which
 * retries of a refresh rely on. Throws on claims that `verify` would refuse as malformed, and on a token over 2 KiB.
 */
export function createSigner(options: { kid: string; privateKey: KeyObject }): {
  sign(claims: TokenClaims): string;
} {
  const { kid, privateKey } = options;
  if (!kidPattern.test(kid)) throw new TypeError('the kid must be 1 to 64 characters of base64url');
  checkKey(privateKey, 'private');
  const headers = {
    access: headerOf(headerTypes.access, kid),
    refresh: headerOf(headerTypes.refresh, kid),
  };
  return {
    sign(claims) {
      if (!isClaims(claims)) throw new TypeError('token claims of wrong shape');
      const signed = `${headers[claims.type]}.${encode(payloadOf(claims))}`;
      const token = `${signed}.${signBytes(null, Buffer.from(signed), privateKey).toString('base64url')}`;
      if (token.length > maxTokenLength)
        throw new RangeError(`a token may have ${maxTokenLength} characters`);
      return token;
    },
  };
}

/**
 * Whether we signed this token, as this kind, for this issuer and audience, and it is in force at `now`.
 * The header must be byte for byte the one that we write, so alg, crit, jwk, jku and x5u have no meaning at all, and
 * `kid` is only looked up in `keys` (Ed25519 public keys). `exp` gets no leeway, `nbf` and `iat` 60 seconds.
 */
export function verify(
  token: string,
  kind: TokenKind,
  keys: ReadonlyMap<string, KeyObject>,
  expected: Expectations,
): Verified {
  const fail = (reason: TokenFault): Verified => ({ ok: false, reason });
  const [header, payload, signaturePart] = splitToken(token) ?? [];
  if (header === undefined || payload === undefined || signaturePart === undefined) return fail('malformed');
  const [, type, kid] = headerPattern.exec(Buffer.from(header, 'base64url').toString()) ?? [];
  const signature = decode(signaturePart);
  if (!signature || type === undefined || kid === undefined || header !== headerOf(type, kid)) {
    return fail('malformed');
  }
  if (type !== headerTypes[kind]) return fail('wrong_type');
  const key = keys.get(kid);
  if (!key) return fail('unknown_key');
  checkKey(key, 'public');
  const signed = Buffer.from(token.slice(0, header.length + 1 + payload.length));
  if (!verifyBytes(null, signed, key, signature)) return fail('bad_signature');

  const claims = readPayload(payload);
  if (!claims) return fail('malformed');
  if (claims.type !== kind) return fail('wrong_type');
  if (claims.iss !== expected.issuer) return fail('wrong_issuer');
  if (claims.aud !== expected.audience) return fail('wrong_audience');
  if (claims.exp * 1000 <= expected.now) return fail('expired');
  if (Math.max(claims.nbf, claims.iat) * 1000 > expected.now + maxClockSkewMs) return fail('not_yet_valid');
  return { ok: true, claims };
}

/**
 * What an unverified token says about itself, only to route a database look-up by user: never evidence of anything.
 * Null when it cannot be one of ours (parts, length, `sub` no lower-case UUID).
 */
export function peekClaims(token: string): { sub: string; jti?: string; sid?: string } | null {
  const payload = splitToken(token)?.[1];
  const value = payload === undefined ? undefined : parseObject(Buffer.from(payload, 'base64url').toString());
  if (!value || !isUuid(value.sub)) return null;
  const { sub, jti, sid } = value;
  return { sub, ...(isUuid(jti) && { jti }), ...(isUuid(sid) && { sid }) };
}

/** SHA-256 of the token's text: the allowlist's key. Of these bytes only, so any other spelling is another token. */
export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

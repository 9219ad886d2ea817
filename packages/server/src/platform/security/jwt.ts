// Creates and verifies the service's tokens: JWTs signed with Ed25519, in one exact spelling. It is synchronous,
// because the thread pool is for password hashing. It must not decide whether a token is live: the allowlist does.
import { hash, type KeyObject, sign as signBytes, verify as verifyBytes } from 'node:crypto';

export type TokenKind = 'access' | 'refresh';

/** `client_id` of the tokens of users: this service is the client that signed them in (RFC 9068, section 2.2). */
export const OWN_CLIENT_ID = 'castellan';

/**
 * Times are whole seconds since 1970 (RFC 7519); `sub` and `jti` are lower-case UUIDs. `nbf` equals `iat`: in refresh tokens,
 * and in access tokens of version 0.2 and before.
 */
type CommonClaims = {
  iss: string;
  sub: string;
  aud: string;
  iat: number;
  nbf?: number;
  exp: number;
  jti: string;
  /** How and when the user was authenticated: all three or none. None: by a password, when the session began. */
  acr?: string;
  amr?: readonly string[];
  auth_time?: number;
  /** Who acts as the user (RFC 8693, section 4.1). Only in access tokens of sessions. */
  act?: { readonly sub: string };
};
/**
 * Claims of a session's token. `sid` is a lower-case UUID. Refresh tokens have no `client_id`, nor have access tokens of version
 * 0.2 and before.
 */
export type SessionClaims = CommonClaims & {
  sid: string;
  client_id?: typeof OWN_CLIENT_ID | undefined;
  type: TokenKind;
};
/** Claims of a service account's access token (RFC 9068). `client_id` is the id of the account, as `sub` is. */
export type ClientClaims = CommonClaims & {
  sid?: undefined;
  client_id: string;
  type: 'access';
};
export type TokenClaims = SessionClaims | ClientClaims;

export type TokenFault =
  | 'malformed'
  | 'unknown_key'
  | 'bad_signature'
  | 'expired'
  | 'not_yet_valid'
  | 'wrong_issuer'
  | 'wrong_audience'
  | 'wrong_type';

export type Verified<C extends TokenClaims = TokenClaims> =
  | { ok: true; claims: C }
  | { ok: false; reason: TokenFault };

/** `now` is in milliseconds since 1970. */
export type Expectations = {
  issuer: string;
  audience: string;
  now: number;
};

const MAX_TOKEN_LENGTH = 2048; // tokens have about 550 characters; leaves room for a long PUBLIC_URL
const SIGNATURE_LENGTH = 86; // 64 bytes in base64url
const maxClockSkewMs = 60 * 1000; // the clock of the signing instance may be ahead of the verifying one's

const headerTypes = { access: 'at+jwt', refresh: 'rt+jwt' } as const; // RFC 9068; the second by analogy
const kidPattern = /^[\w-]{1,64}$/; // an RFC 7638 thumbprint has 43 characters
const headerPattern = /^\{"alg":"EdDSA","typ":"([\w+-]{1,32})","kid":"([\w-]{1,64})"\}$/;
const uuidPattern = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

const encode = (text: string): string => Buffer.from(text).toString('base64url');

/** Returns the bytes; undefined unless the text is their canonical base64url spelling. */
function decode(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

const headerOf = (type: string, kid: string): string =>
  encode(`{"alg":"EdDSA","typ":"${type}","kid":"${kid}"}`);

/** Returns the payload as JSON. The order of members is fixed, so that equal claims give equal bytes. */
function payloadOf(claims: TokenClaims): string {
  const { iss, sub, aud, iat, nbf, exp, jti, sid, client_id, type, acr, amr, auth_time, act } = claims;
  return JSON.stringify({
    iss,
    sub,
    aud,
    iat,
    nbf,
    exp,
    jti,
    sid,
    client_id,
    type,
    acr,
    amr,
    auth_time,
    act: act && { sub: act.sub },
  });
}

type Unchecked = { [claim in keyof SessionClaims]?: unknown };

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
const isSeconds = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

function isClaims(value: Unchecked): value is TokenClaims {
  return (
    isText(value.iss) &&
    isText(value.aud) &&
    isUuid(value.sub) &&
    isUuid(value.jti) &&
    isHolder(value) &&
    hasContextOrNone(value) &&
    isActedOrNot(value) &&
    isSeconds(value.iat) &&
    (isSeconds(value.nbf) || (value.nbf === undefined && value.type === 'access')) &&
    isSeconds(value.exp)
  );
}

/** Either a session, or a service account that is its own subject and has no refresh tokens. */
function isHolder({ sid, client_id, sub, type }: Unchecked): boolean {
  if (sid === undefined) return client_id === sub && type === 'access';
  if (client_id === undefined) return isUuid(sid) && (type === 'access' || type === 'refresh');
  return isUuid(sid) && client_id === OWN_CLIENT_ID && type === 'access';
}

const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);

/** Only tokens of sessions have a context. */
function hasContextOrNone({ acr, amr, auth_time, sid }: Unchecked): boolean {
  if (acr === undefined && amr === undefined && auth_time === undefined) return true;
  return sid !== undefined && isText(acr) && isTexts(amr) && isSeconds(auth_time);
}

/** Only an access token of a session says who acts. */
function isActedOrNot({ act, sid, type }: Unchecked): boolean {
  if (act === undefined) return true;
  return (
    typeof act === 'object' &&
    act !== null &&
    'sub' in act &&
    isUuid(act.sub) &&
    sid !== undefined &&
    type === 'access'
  );
}

/** Returns the claims if the payload is byte for byte as `payloadOf` writes it: no duplicate member, no extra space. */
function readPayload(part: string): TokenClaims | undefined {
  const text = decode(part)?.toString();
  const value = text === undefined ? undefined : parseObject(text);
  return value && isClaims(value) && payloadOf(value) === text ? value : undefined;
}

function splitToken(token: string): [header: string, payload: string, signature: string] | undefined {
  if (token.length > MAX_TOKEN_LENGTH) return undefined;
  const first = token.indexOf('.');
  const second = token.indexOf('.', first + 1);
  if (first < 1 || second <= first + 1 || token.length - second - 1 !== SIGNATURE_LENGTH) return undefined;
  return [token.slice(0, first), token.slice(first + 1, second), token.slice(second + 1)];
}

function checkKey(key: KeyObject, type: 'private' | 'public'): void {
  if (key.type !== type || key.asymmetricKeyType !== 'ed25519')
    throw new TypeError(`not an Ed25519 ${type} key`);
}

/**
 * Returns a signer with one key. The header depends on `claims.type`. Equal claims give equal tokens, which retries of
 * a refresh rely on. `sign` throws for claims that `verify` would refuse as malformed, and for a token over 2 KiB.
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
      if (token.length > MAX_TOKEN_LENGTH)
        throw new RangeError(`a token may have ${MAX_TOKEN_LENGTH} characters`);
      return token;
    },
  };
}

/**
 * Returns the claims of a token of this kind that was signed with one of `keys` (Ed25519 public keys by `kid`), for any
 * issuer and time. The header must be byte for byte as `headerOf` writes it, so alg, crit, jwk, jku and x5u have no
 * effect.
 */
export function readSigned(
  token: string,
  kind: 'refresh',
  keys: ReadonlyMap<string, KeyObject>,
): Verified<SessionClaims>;
export function readSigned(token: string, kind: TokenKind, keys: ReadonlyMap<string, KeyObject>): Verified;
export function readSigned(token: string, kind: TokenKind, keys: ReadonlyMap<string, KeyObject>): Verified {
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
  return { ok: true, claims };
}

/**
 * Verifies that the token was signed with one of the keys (see `readSigned`), for this issuer and audience, and is
 * valid at `now`. `exp` has no tolerance, `nbf` and `iat` have 60 seconds.
 */
export function verify(
  token: string,
  kind: TokenKind,
  keys: ReadonlyMap<string, KeyObject>,
  expected: Expectations,
): Verified {
  const signed = readSigned(token, kind, keys);
  if (!signed.ok) return signed;
  const fail = (reason: TokenFault): Verified => ({ ok: false, reason });
  const { claims } = signed;
  if (claims.iss !== expected.issuer) return fail('wrong_issuer');
  if (claims.aud !== expected.audience) return fail('wrong_audience');
  if (claims.exp * 1000 <= expected.now) return fail('expired');
  if (Math.max(claims.nbf ?? 0, claims.iat) * 1000 > expected.now + maxClockSkewMs)
    return fail('not_yet_valid');
  return signed;
}

/** `client_id` only of service accounts: it is a UUID. */
export type PeekedClaims = { sub: string; jti?: string; sid?: string; client_id?: string };

/**
 * Returns claims of an unverified token, only to look it up by user: they prove nothing. Null when the token cannot be
 * the service's own (parts, length, or `sub` is no lower-case UUID).
 */
export function peekClaims(token: string): PeekedClaims | null {
  const payload = splitToken(token)?.[1];
  const value = payload === undefined ? undefined : parseObject(Buffer.from(payload, 'base64url').toString());
  if (!value || !isUuid(value.sub)) return null;
  const { sub, jti, sid, client_id } = value;
  return {
    sub,
    ...(isUuid(jti) && { jti }),
    ...(isUuid(sid) && { sid }),
    ...(isUuid(client_id) && { client_id }),
  };
}

/**
 * Returns the claims of a token without verifying it. Call it only for a token that is on the allowlist, which proves
 * that this service signed it. Undefined for a text that is no token.
 */
export function readListed(token: string): TokenClaims | undefined {
  const payload = splitToken(token)?.[1];
  return payload === undefined ? undefined : readPayload(payload);
}

/** Returns the id of the key that signed a token, under the same condition as `readListed`. */
export function keyIdOfListed(token: string): string | undefined {
  const header = splitToken(token)?.[0];
  return header === undefined
    ? undefined
    : headerPattern.exec(Buffer.from(header, 'base64url').toString())?.[2];
}

/** Returns the SHA-256 of the token's text, the key of the allowlist. Another spelling is another token. */
export function tokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** Returns the same in hexadecimal. A text costs a third of a Buffer, on the path of every request. */
export function tokenHashText(token: string): string {
  return hash('sha256', token, 'hex');
}

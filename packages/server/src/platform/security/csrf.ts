// Creates and verifies the two parts of the signed double submit: the cookie of a browser and its token.
// It must not read requests or set cookies: the HTTP layer does.
import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';

export type Csrf = {
  /** Returns a new cookie value: 128 random bits and their signature. */
  issueBrowserId(): string;
  /** Returns the browser id of a cookie value; null when its signature is wrong. */
  readBrowserId(cookie: string | undefined): string | null;
  /** Returns a token for this browser id, valid for 8 hours and any number of uses. */
  issueToken(browserId: string): string;
  /** Whether the token was issued for this browser id and has not expired. */
  verifyToken(browserId: string, token: string | undefined): boolean;
};

const lifetimeMs = 8 * 60 * 60 * 1000; // a working day in one open tab
const maxClockSkewMs = 60 * 1000; // between the instance that issues and the one that verifies
const MIN_KEY_BYTES = 32; // the output size of SHA-256
const TIME_BYTES = 6; // milliseconds since 1970, enough until the year 10889
const NONCE_BYTES = 16;
const bodyBytes = TIME_BYTES + NONCE_BYTES;

// 16 bytes are 22 characters, 32 are 43. 6 + 16 + 32 bytes are exactly 72, so a token has only one spelling.
const cookiePattern = /^([\w-]{22})\.([\w-]{43})$/;
const tokenPattern = /^[\w-]{72}$/;

/** `key`: at least 32 bytes, derived for this purpose only. Throws RangeError for a shorter key. */
export function createCsrf(options: { key: Buffer; clock: { now(): number } }): Csrf {
  const { key, clock } = options;
  if (key.length < MIN_KEY_BYTES)
    throw new RangeError(`the CSRF key must have at least ${MIN_KEY_BYTES} bytes`);

  const secret = createSecretKey(key); // an HMAC is six times as fast as with the raw bytes

  const sign = (label: 'browser' | 'token', browserId: string, body?: Buffer): Buffer => {
    const hmac = createHmac('sha256', secret).update(`csrf ${label}\0${browserId}\0`);
    return (body ? hmac.update(body) : hmac).digest();
  };

  return {
    issueBrowserId() {
      const browserId = randomBytes(16).toString('base64url');
      return `${browserId}.${sign('browser', browserId).toString('base64url')}`;
    },

    readBrowserId(cookie) {
      const [, browserId, signature] = cookiePattern.exec(cookie ?? '') ?? [];
      if (browserId === undefined || signature === undefined) return null;
      // Compared as text, so that another spelling of the same bytes is refused.
      const expected = sign('browser', browserId).toString('base64url');
      return timingSafeEqual(Buffer.from(signature), Buffer.from(expected)) ? browserId : null;
    },

    issueToken(browserId) {
      const body = randomBytes(bodyBytes);
      body.writeUIntBE(Math.floor(clock.now()), 0, TIME_BYTES);
      return Buffer.concat([body, sign('token', browserId, body)]).toString('base64url');
    },

    verifyToken(browserId, token) {
      if (token === undefined || !tokenPattern.test(token)) return false;
      const bytes = Buffer.from(token, 'base64url');
      const body = bytes.subarray(0, bodyBytes);
      if (!timingSafeEqual(bytes.subarray(bodyBytes), sign('token', browserId, body))) return false;
      const ageMs = clock.now() - body.readUIntBE(0, TIME_BYTES);
      return ageMs < lifetimeMs && ageMs >= -maxClockSkewMs;
    },
  };
}

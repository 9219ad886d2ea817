// Makes and checks the two halves of the signed double submit: the browser's cookie and the token made for it.
// It must not read requests or set cookies; names and attributes of both belong to the HTTP layer.
import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';

export interface Csrf {
  /** A new cookie value: 128 random bits and their signature. */
  issueBrowserId(): string;
  /** The browser id inside a cookie value, or null when its signature does not hold. */
  readBrowserId(cookie: string | undefined): string | null;
  /** A token for this browser id, good for 8 hours and any number of uses. */
  issueToken(browserId: string): string;
  /** True only for an unexpired token that was made for this browser id. */
  verifyToken(browserId: string, token: string | undefined): boolean;
}

const lifetimeMs = 8 * 60 * 60 * 1000; // long enough for a working day in one open tab
const maxClockSkewMs = 60 * 1000; // between two instances, one issuing and one checking
const minKeyBytes = 32; // the output size of SHA-256
const timeBytes = 6; // milliseconds since 1970, enough until the year 10889
const nonceBytes = 16;
const bodyBytes = timeBytes + nonceBytes;

// 16 bytes in 22 characters, 32 in 43; 6 + 16 + 32 bytes in exactly 72, so a token has one spelling only.
const cookiePattern = /^([\w-]{22})\.([\w-]{43})$/;
const tokenPattern = /^[\w-]{72}$/;

/** `key` is at least 32 bytes and derived for this purpose alone; `clock` counts milliseconds since 1970. */
export function createCsrf(options: { key: Buffer; clock: { now(): number } }): Csrf {
  const { key, clock } = options;
  if (key.length < minKeyBytes) throw new RangeError(`the CSRF key must have at least ${minKeyBytes} bytes`);

  const secret = createSecretKey(key); // six times as fast per HMAC as the raw bytes

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
      // Compared as text, so that a second spelling of the same bytes is refused.
      const expected = sign('browser', browserId).toString('base64url');
      return timingSafeEqual(Buffer.from(signature), Buffer.from(expected)) ? browserId : null;
    },

    issueToken(browserId) {
      const body = randomBytes(bodyBytes);
      body.writeUIntBE(Math.floor(clock.now()), 0, timeBytes);
      return Buffer.concat([body, sign('token', browserId, body)]).toString('base64url');
    },

    verifyToken(browserId, token) {
      if (token === undefined || !tokenPattern.test(token)) return false;
      const bytes = Buffer.from(token, 'base64url');
      const body = bytes.subarray(0, bodyBytes);
      if (!timingSafeEqual(bytes.subarray(bodyBytes), sign('token', browserId, body))) return false;
      const ageMs = clock.now() - body.readUIntBE(0, timeBytes);
      return ageMs < lifetimeMs && ageMs >= -maxClockSkewMs;
    },
  };
}

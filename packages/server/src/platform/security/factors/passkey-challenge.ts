// Creates and verifies WebAuthn challenges that are not stored: time, nonce and signature, for one purpose and one binding.
// It must not remember which ones were used: the transaction that succeeds with a challenge stores its hash.
import { createHash, createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';

export type ChallengePurpose = 'sign_in' | 'second_factor' | 'step_up' | 'registration' | 'invitation';

export type PasskeyChallenges = {
  /** Returns a new challenge (base64url). `binding` names the browser, the pending sign-in, the session or the link. */
  issue(purpose: ChallengePurpose, binding: string): { challenge: string; expiresAt: Date };
  /** Returns the SHA-256 of a challenge's bytes; null unless it was issued for these within the last 10 minutes. */
  read(
    challenge: string,
    purpose: ChallengePurpose,
    binding: string,
  ): { hash: Buffer; expiresAt: Date } | null;
};

const lifetimeMs = 10 * 60 * 1000; // WebAuthn recommends timeouts of 5 to 10 minutes for a ceremony
const maxClockSkewMs = 60 * 1000; // between the instance that issues and the one that verifies
const MIN_KEY_BYTES = 32; // the output size of SHA-256
const TIME_BYTES = 6; // milliseconds since 1970, enough until the year 10889
const NONCE_BYTES = 16;
const bodyBytes = TIME_BYTES + NONCE_BYTES;

// 6 + 16 + 32 bytes are exactly 72 characters, so a challenge has only one spelling.
const challengePattern = /^[\w-]{72}$/;

/** `key`: at least 32 bytes, derived for this purpose only. Throws RangeError for a shorter key. */
export function createPasskeyChallenges(options: {
  key: Buffer;
  clock: { now(): number };
}): PasskeyChallenges {
  const { key, clock } = options;
  if (key.length < MIN_KEY_BYTES)
    throw new RangeError(`the key of passkey challenges must have at least ${MIN_KEY_BYTES} bytes`);

  const secret = createSecretKey(key); // an HMAC is six times as fast as with the raw bytes

  // The body's length is fixed and no purpose has a zero byte, so no two inputs are spelled alike.
  const sign = (purpose: ChallengePurpose, binding: string, body: Buffer): Buffer =>
    createHmac('sha256', secret).update(`${purpose}\0${binding}\0`).update(body).digest();

  return {
    issue(purpose, binding) {
      const body = randomBytes(bodyBytes);
      const issuedAt = Math.floor(clock.now());
      body.writeUIntBE(issuedAt, 0, TIME_BYTES);
      const challenge = Buffer.concat([body, sign(purpose, binding, body)]).toString('base64url');
      return { challenge, expiresAt: new Date(issuedAt + lifetimeMs) };
    },

    read(challenge, purpose, binding) {
      if (!challengePattern.test(challenge)) return null;
      const bytes = Buffer.from(challenge, 'base64url');
      const body = bytes.subarray(0, bodyBytes);
      if (!timingSafeEqual(bytes.subarray(bodyBytes), sign(purpose, binding, body))) return null;
      const issuedAt = body.readUIntBE(0, TIME_BYTES);
      const ageMs = clock.now() - issuedAt;
      if (ageMs >= lifetimeMs || ageMs < -maxClockSkewMs) return null;
      return {
        hash: createHash('sha256').update(bytes).digest(),
        expiresAt: new Date(issuedAt + lifetimeMs),
      };
    },
  };
}

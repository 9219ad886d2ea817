// One-time codes of authenticator apps (RFC 6238): SHA-1, 6 digits, 30 seconds, because every app supports these.
// It must not store or encrypt secrets, nor remember which code was accepted: its callers do.
import { randomBytes } from 'node:crypto';
import { generateURI, ScureBase32Plugin, verifySync } from 'otplib';

const SECRET_BYTES = 20; // the output size of SHA-1 (RFC 4226, section 4, R6)
const STEP_SECONDS = 30;
const code = /^[0-9]{6}$/;
const base32 = new ScureBase32Plugin();

export const newTotpSecret = (): Buffer => randomBytes(SECRET_BYTES);

/** Returns the secret in base32 without padding, for people who type it into their app. */
export const totpText = (secret: Buffer): string => base32.encode(secret, { padding: false });

/** Returns the `otpauth:` URI that apps read from a QR code. A colon ends the issuer, so the issuer's colons are removed. */
export const totpUri = ({
  issuer,
  account,
  secret,
}: {
  issuer: string;
  account: string;
  secret: Buffer;
}): string => generateURI({ issuer: issuer.replaceAll(':', ''), label: account, secret: totpText(secret) });

/** Returns the six digits of a code that a person typed, which may have blanks; null for anything else. */
export function readTotpCode(input: string): string | null {
  const compact = input.replaceAll(/\s/g, '');
  return code.test(compact) ? compact : null;
}

/**
 * Returns the step (30 seconds since 1970) of a code. Codes of the current step and of one to either side are correct. A
 * correct code is `replayed` unless its step is later than `lastStep`, the last one accepted. Null for other texts.
 */
export function checkTotp(
  secret: Buffer,
  text: string,
  at: { now: Date; lastStep: number },
): { step: number } | 'replayed' | null {
  if (!code.test(text)) return null;
  const { now, lastStep } = at;
  const step = stepOf(secret, text, now, lastStep);
  if (step !== null) return { step };
  return stepOf(secret, text, now) === null ? null : 'replayed';
}

/** Returns the earliest step after `lastStep` that has this code; null if none of the three does. */
function stepOf(secret: Buffer, token: string, now: Date, lastStep?: number): number | null {
  const epoch = Math.floor(now.getTime() / 1000);
  // The library throws when no step can be later.
  if (lastStep !== undefined && lastStep > Math.floor(epoch / STEP_SECONDS)) return null;
  const result = verifySync({
    secret,
    token,
    epoch,
    period: STEP_SECONDS,
    epochTolerance: STEP_SECONDS,
    ...(lastStep === undefined ? {} : { afterTimeStep: lastStep }),
  });
  return result.valid && 'timeStep' in result ? result.timeStep : null;
}

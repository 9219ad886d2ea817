// New identifiers: UUIDs whose order follows time, so that indexes stay compact under load.
// They are names, never secrets: one-time tokens come from `randomToken`.
import { randomBytes, randomFillSync } from 'node:crypto';

const bytes = Buffer.allocUnsafe(16);

/** RFC 9562 version 7: 48 bits of milliseconds, 74 random bits; lower case. */
export function newId(): string {
  randomFillSync(bytes);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** 256 bits from the system's generator, base64url, 43 characters. */
export const randomToken = (): string => randomBytes(32).toString('base64url');

// The text of an application's refresh token. None is stored: the text names the grant and the turn, and a key that is not in the
// database authenticates both. It must not decide whether a turn is the current one.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { secretBytesIn, secretTextOf } from '../../../platform/security/secret-text.ts';

export const REFRESH_MARK = 'cas_rt_';
const ID_BYTES = 16;
const TURN_BYTES = 4;
const PROOF_BYTES = 24;

/** `turn` counts the exchanges of the grant. */
export type RefreshToken = { grantId: string; turn: number };

/** `key`: the purpose key `application refresh tokens`. Equal grants and turns give equal texts. */
export function refreshTokenText(key: Buffer, { grantId, turn }: RefreshToken): string {
  const named = Buffer.alloc(ID_BYTES + TURN_BYTES);
  named.write(grantId.replaceAll('-', ''), 'hex');
  named.writeUInt32BE(turn, ID_BYTES);
  return secretTextOf(REFRESH_MARK, Buffer.concat([named, proofOf(key, named)]));
}

/** Returns what a refresh token names; undefined for a text that was not made with this key. */
export function readRefreshToken(key: Buffer, text: string): RefreshToken | undefined {
  const bytes = secretBytesIn(REFRESH_MARK, text, ID_BYTES + TURN_BYTES + PROOF_BYTES);
  if (!bytes) return undefined;
  const named = bytes.subarray(0, ID_BYTES + TURN_BYTES);
  if (!timingSafeEqual(proofOf(key, named), bytes.subarray(ID_BYTES + TURN_BYTES))) return undefined;
  const hex = named.toString('hex', 0, ID_BYTES);
  return {
    grantId: hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    turn: named.readUInt32BE(ID_BYTES),
  };
}

const proofOf = (key: Buffer, named: Buffer): Buffer =>
  createHmac('sha256', key).update(named).digest().subarray(0, PROOF_BYTES);

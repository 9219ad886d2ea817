// Seals what a sign-in at a provider leaves in the database, each for its row, and knows the codes of mails by a hash.
// A copy of the database must not be enough to finish somebody's sign-in, nor to find a code of eight digits.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveKey, type SealOwner, seal, UnsealError, unseal } from '../../platform/security/sealing.ts';

export type SignInVault = {
  /** `stateHash`: the key of the row. */
  sealState(stateHash: Buffer, content: unknown): Buffer;
  /** Returns what was sealed, a `T`; null for what this SECRET_KEY does not open, or what belongs to another row. */
  openState<T>(stateHash: Buffer, sealed: Buffer): T | null;
  sealIdToken(identityId: string, token: string): Buffer;
  /** Returns null for what this SECRET_KEY does not open, or what belongs to another identity. */
  openIdToken(identityId: string, sealed: Buffer): string | null;
  codeHash(stateHash: Buffer, code: string): Buffer;
  isCode(stateHash: Buffer, code: string, hash: Buffer): boolean;
};

export function createVault(secretKey: Buffer): SignInVault {
  const codeKey = deriveKey(secretKey, 'provider sign-in code');
  const open = (owner: SealOwner, sealed: Buffer): string | null => {
    try {
      return unseal(secretKey, owner, sealed).toString('utf8');
    } catch (error) {
      if (error instanceof UnsealError) return null;
      throw error;
    }
  };
  const stateOwner = (stateHash: Buffer) =>
    ({ kind: 'provider sign-in', id: stateHash.toString('hex') }) as const;
  const tokenOwner = (id: string) => ({ kind: 'provider ID token', id }) as const;
  const codeHash = (stateHash: Buffer, code: string): Buffer =>
    createHmac('sha256', codeKey).update(stateHash).update(code).digest();
  return {
    sealState: (stateHash, content) =>
      seal(secretKey, stateOwner(stateHash), Buffer.from(JSON.stringify(content), 'utf8')),
    openState(stateHash, sealed) {
      const text = open(stateOwner(stateHash), sealed);
      return text === null ? null : JSON.parse(text);
    },
    sealIdToken: (identityId, token) => seal(secretKey, tokenOwner(identityId), Buffer.from(token, 'utf8')),
    openIdToken: (identityId, sealed) => open(tokenOwner(identityId), sealed),
    codeHash,
    isCode: (stateHash, code, hash) => timingSafeEqual(codeHash(stateHash, code), hash),
  };
}

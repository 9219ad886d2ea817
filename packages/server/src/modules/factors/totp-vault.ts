// Seals the secrets of authenticator apps for the database, each for its account.
import { seal, UnsealError, unseal } from '../../platform/security/sealing.ts';

export type TotpVault = {
  seal(userId: string, secret: Buffer): Buffer;
  /** Returns null for a secret that this SECRET_KEY does not open, or that belongs to another account. */
  open(userId: string, sealed: Buffer): Buffer | null;
};

const ownerOf = (userId: string) => ({ kind: 'totp secret', id: userId }) as const;

export const createTotpVault = (secretKey: Buffer): TotpVault => ({
  seal: (userId, secret) => seal(secretKey, ownerOf(userId), secret),
  open(userId, sealed) {
    try {
      return unseal(secretKey, ownerOf(userId), sealed);
    } catch (error) {
      if (error instanceof UnsealError) return null;
      throw error;
    }
  },
});

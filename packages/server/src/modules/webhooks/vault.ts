// Seals the secrets that sign events, each for its own record. It must not keep one.
import { randomBytes } from 'node:crypto';
import { seal, UnsealError, unseal } from '../../platform/security/sealing.ts';

export type WebhookVault = {
  /** Returns a new secret, as receivers get it, and sealed. */
  create(id: string): { text: string; sealed: Buffer };
  /** Returns the bytes that sign; undefined if this SECRET_KEY does not open them. */
  open(id: string, sealed: Buffer): Buffer | undefined;
};

/** Standard Webhooks recommends 24 to 64 bytes. */
const SECRET_BYTES = 32;

const ownerOf = (id: string) => ({ kind: 'webhook secret', id }) as const;

export const createWebhookVault = (secretKey: Buffer): WebhookVault => ({
  create(id) {
    const bytes = randomBytes(SECRET_BYTES);
    return { text: `whsec_${bytes.toString('base64')}`, sealed: seal(secretKey, ownerOf(id), bytes) };
  },
  open(id, sealed) {
    try {
      return unseal(secretKey, ownerOf(id), sealed);
    } catch (error) {
      if (error instanceof UnsealError) return undefined;
      throw error;
    }
  },
});

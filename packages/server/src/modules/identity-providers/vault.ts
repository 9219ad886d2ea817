// Seals what Castellan authenticates itself with at providers: client secrets, and Apple's private keys. Each for its provider.
import { seal, UnsealError, unseal } from '../../platform/security/sealing.ts';
import type { ProviderRow } from './store.ts';

export type ProviderVault = {
  sealSecret(providerId: string, secret: string): Buffer;
  /** Returns null if the provider has no secret; undefined if this SECRET_KEY does not open it. */
  openSecret(provider: Pick<ProviderRow, 'id' | 'secret_sealed'>): string | null | undefined;
};

const ownerOf = (providerId: string) => ({ kind: 'provider secret', id: providerId }) as const;

export const createProviderVault = (secretKey: Buffer): ProviderVault => ({
  sealSecret: (providerId, secret) => seal(secretKey, ownerOf(providerId), Buffer.from(secret, 'utf8')),
  openSecret({ id, secret_sealed: sealed }) {
    if (sealed === null) return null;
    try {
      return unseal(secretKey, ownerOf(id), sealed).toString('utf8');
    } catch (error) {
      if (error instanceof UnsealError) return undefined;
      throw error;
    }
  },
});

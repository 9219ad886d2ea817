// The codes that are mailed to people who come from a provider without an address that counts. A code is made when its mail is
// written, so that no secret waits in the outbox.
import { randomInt } from 'node:crypto';
import type { Db } from '../../schema/database.ts';
import type { ProviderSignIns } from './deps.ts';
import { CODE_SECONDS, findAwaitingCode, keepCode } from './store.ts';

const CODE_DIGITS = 8;

export type ProviderCodes = {
  /** Returns the name of the provider of the sign-in if it still waits for a code to this address. */
  findProvider(signIn: string, email: string): Promise<string | null>;
  /** Makes a code, and ends the one before. Returns null if the sign-in no longer waits for one to this address. */
  issue(signIn: string, email: string): Promise<string | null>;
  lifetimeMinutes: number;
};

export function createProviderCodes(db: Db, signIns: Pick<ProviderSignIns, 'codeHash'>): ProviderCodes {
  return {
    lifetimeMinutes: CODE_SECONDS / 60,
    async findProvider(signIn, email) {
      return (await findAwaitingCode(db, Buffer.from(signIn, 'hex'), email))?.provider ?? null;
    },
    async issue(signIn, email) {
      const stateHash = Buffer.from(signIn, 'hex');
      const code = String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, '0');
      return (await keepCode(db, { stateHash, email }, signIns.codeHash(stateHash, code))) ? code : null;
    },
  };
}

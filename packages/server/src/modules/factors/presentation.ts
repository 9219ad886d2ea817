// Presents the factors of an account. It must not show a secret, a credential id, a hash or a counter.
import type { Factors } from '@castellan/contract/factors';
import type { Passkey } from '@castellan/contract/passkeys';
import { isUsableRpId, type PasskeySite } from '../../platform/security/factors/passkey-site.ts';
import type { Db } from '../../schema/database.ts';
import { listPasskeys, type PasskeyRow } from './passkeys/store.ts';
import { type FactorFacts, findFactorFacts } from './store.ts';

const timeOf = (at: Date | null): string | null => at?.toISOString() ?? null;

export type PresentationDeps = {
  db: Db;
  passkeySite: PasskeySite;
  settings: { secondFactors: readonly string[] };
};

/** What the owner of the factors and administrators may see of them. */
type ShownFactors = Omit<Factors, 'context' | 'requirement'>;

/** Returns the factors of an account, as they are shown and as they are stored; undefined if there is no such account. */
export async function findShownFactors(
  { db, passkeySite, settings }: PresentationDeps,
  userId: string,
): Promise<{ shown: ShownFactors; facts: FactorFacts } | undefined> {
  const facts = await findFactorFacts(db, userId);
  if (!facts) return undefined;
  const passkeys = await listPasskeys(db, userId);
  const canAddPasskeys = settings.secondFactors.includes('passkey') && passkeySite.isFit;
  const shown = {
    totp: totpOf(facts),
    passkeys: passkeys.map((passkey) => passkeyOf(passkeySite, passkey)),
    recovery_codes:
      facts.codes_created_at === null
        ? null
        : { left: facts.codes_left, created_at: facts.codes_created_at.toISOString() },
    available: {
      totp: settings.secondFactors.includes('totp'),
      passkey: canAddPasskeys,
      security_key: canAddPasskeys,
    },
  };
  return { shown, facts };
}

const totpOf = (facts: FactorFacts): Factors['totp'] =>
  facts.totp_created_at === null
    ? null
    : {
        created_at: facts.totp_created_at.toISOString(),
        last_used_at: timeOf(facts.totp_last_used_at),
        suspended: facts.totp_suspended_at !== null,
      };

/** Returns the record of a passkey: never its credential id, its key or its counter. */
export const passkeyOf = (site: PasskeySite, passkey: PasskeyRow): Passkey => ({
  id: passkey.id,
  kind: passkey.kind,
  name: passkey.name,
  rp_id: passkey.rp_id,
  usable: isUsableRpId(site, passkey.rp_id),
  created_at: passkey.created_at.toISOString(),
  last_used_at: timeOf(passkey.last_used_at),
  backed_up: passkey.backed_up,
  transports: passkey.transports,
});

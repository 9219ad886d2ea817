// Presents a person's own factors. It must not show a secret, a hash or a counter.
import type { Factors } from '@castellan/contract/factors';
import type { Passkey } from '@castellan/contract/passkeys';
import { AppError } from '../../../platform/errors.ts';
import { isUsableRpId, type PasskeySite } from '../../../platform/security/factors/passkey-site.ts';
import type { UserRow } from '../../../schema/user-record.ts';
import { type FactorFacts, findFactorFacts, listPasskeys, type PasskeyRow } from '../../factors/service.ts';
import type { Context } from '../../sessions/service.ts';
import type { SecondFactorDeps } from './deps.ts';
import { requirementOf } from './requirement.ts';

const timeOf = (at: Date | null): string | null => at?.toISOString() ?? null;

/** Throws `token_revoked` if the account is gone. `context`: of the token that will read it. */
export async function readFactors(
  deps: SecondFactorDeps,
  account: UserRow,
  context: Context,
): Promise<Factors> {
  const facts = await findFactorFacts(deps.db, account.user_id);
  if (!facts) throw new AppError('token_revoked');
  const { settings, passkeySite } = deps;
  const passkeys = await listPasskeys(deps.db, account.user_id);
  const canAddPasskeys = settings.secondFactors.includes('passkey') && passkeySite.isFit;
  return {
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
    requirement: await requirementOf(deps, account),
    context: { acr: context.acr, auth_time: context.authTime.toISOString() },
  };
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

// Gives and takes the roles that a provider's record maps its claims to, and lets names follow the provider.
// Nobody does it: it must touch no role that the record does not name, and never a system role.
import type { Tx } from '../../schema/database.ts';
import { changeUnattended } from '../assignments/unattended.ts';
import type { AuditEvent } from '../audit/service.ts';
import type { ProviderRow } from '../identity-providers/store.ts';
import { setNames } from '../users/service.ts';
import type { Account } from './identities-store.ts';
import type { Proven } from './reading.ts';

type About = { provider: ProviderRow; userId: string; proven: Proven };

const byProvider = ({ provider: { slug }, proven: { roles } }: About) => ({
  via: 'provider',
  provider: slug,
  ...missingIn(roles),
});

export const missingIn = ({ missing }: Proven['roles']): { claim_missing?: string[] } =>
  missing.length > 0 ? { claim_missing: missing } : {};

/** Changes roles of the user, whose row is locked. Returns the events. */
async function changeRoles(
  tx: Tx,
  about: About,
  change: { add: readonly string[]; remove: readonly string[] },
): Promise<AuditEvent[]> {
  const changed = await changeUnattended(tx, about.userId, change);
  if (!changed) return [];
  return [
    {
      action: 'user_roles_changed',
      actorId: null,
      resourceType: 'user',
      resourceId: about.userId,
      before: { roles: changed.before },
      after: { roles: changed.after },
      details: byProvider(about),
    },
  ];
}

/** Only roles that the record names now: it may have changed while the person had something to do. */
const named = ({ role_mapping: mapping }: ProviderRow, ids: readonly string[]): string[] =>
  ids.filter((id) => mapping.some(({ role_id }) => role_id === id));

/** Gives an account that the provider makes its roles. */
export const giveFirstRoles = (tx: Tx, about: About): Promise<AuditEvent[]> =>
  changeRoles(tx, about, {
    add: [...about.provider.role_ids, ...named(about.provider, about.proven.roles.given)],
    remove: [],
  });

/** Lets roles and names follow the provider at a sign-in, as far as its record says so. */
export async function follow(tx: Tx, account: Account, about: About): Promise<AuditEvent[]> {
  const { provider, userId, proven } = about;
  const { given, taken } = proven.roles;
  const roles =
    provider.mapping === 'every_sign_in'
      ? await changeRoles(tx, about, { add: named(provider, given), remove: named(provider, taken) })
      : [];
  const kept = { first_name: account.first_name, last_name: account.last_name };
  const names = { ...kept, ...proven.names };
  const isSame = names.first_name === kept.first_name && names.last_name === kept.last_name;
  if (!provider.sync_names || isSame) return roles;
  await setNames(tx, userId, names);
  return [
    ...roles,
    {
      action: 'user_updated',
      actorId: null,
      resourceType: 'user',
      resourceId: userId,
      before: kept,
      after: names,
      details: { via: 'provider', provider: provider.slug },
    },
  ];
}

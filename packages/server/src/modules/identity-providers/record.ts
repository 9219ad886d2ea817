// Shared by the operations on identity providers: presents one, locks one for a change, and says who may write one.
// It must not change a provider, and nothing here opens a secret.
import type { IdentityProvider } from '@castellan/contract/identity-providers';
import type { Clock } from '../../platform/clock.ts';
import { AppError } from '../../platform/errors.ts';
import type { Versioned } from '../../platform/http/record-version.ts';
import { type Entitled, type Entry, type Locking, lockSubjects } from '../authz/change.ts';
import { requireMayGrantRoles, requireProvedAll } from '../authz/delegation.ts';
import type { PreviewDeps } from '../authz/impact/preview.ts';
import type { ProviderFields } from './fields.ts';
import { refusal } from './refusal.ts';
import { findSystemRoles, lockProvider, type ProviderRow, readProvider } from './store.ts';
import type { Upstreams } from './upstream/upstreams.ts';
import type { ProviderVault } from './vault.ts';

export type ProviderDeps = PreviewDeps & {
  providerVault: ProviderVault;
  upstreams: Upstreams;
  clock: Clock;
  settings: { publicUrl: string };
};

const addressesOf = ({ slug }: Pick<ProviderRow, 'slug'>, { publicUrl }: ProviderDeps['settings']) => {
  const base = `${publicUrl}/api/v1/auth/providers/${slug}`;
  return {
    redirect_uri: `${base}/callback`,
    post_logout_redirect_uri: `${base}/signed-out`,
    backchannel_logout_uri: `${base}/backchannel-logout`,
  };
};

export function toProvider(
  { version: _version, secret_sealed, created_at, updated_at, ...row }: ProviderRow,
  settings: ProviderDeps['settings'],
): IdentityProvider {
  return {
    ...row,
    has_secret: secret_sealed !== null,
    ...addressesOf(row, settings),
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}

export const versionedProvider = (
  row: ProviderRow,
  settings: ProviderDeps['settings'],
): Versioned<IdentityProvider> => ({ record: toProvider(row, settings), version: row.version });

/** Returns what a change may change, but the secret. It is also what the audit log shows. */
export function fieldsOf(row: ProviderRow): ProviderFields {
  const { id, slug, kind, secret_sealed, created_at, updated_at, created_by_id, version, ...fields } = row;
  return fields;
}

/** Returns the audit entry of a change of the provider `id`. */
export const providerEntry = (
  action: Entry['action'],
  id: string,
  change: Pick<Entry, 'before' | 'after' | 'details'>,
): Entry => ({ action, resourceType: 'identity_provider', resourceId: id, ...change });

/** Locks the caller and the provider until the transaction ends. Throws, in order, 404, then 401 or 403. */
export async function requireProvider(
  locking: Locking,
  id: string,
  purpose: 'update' | 'deletion',
): Promise<{ entitled: Entitled; provider: ProviderRow }> {
  await lockSubjects(locking, {});
  if (!(await lockProvider(locking.tx, id, purpose))) throw new AppError('identity_provider_not_found');
  const entitled = await locking.entitle();
  // A separate statement, so that it sees what was committed while the locks were awaited.
  return { entitled, provider: await readProvider(locking.tx, id) };
}

/**
 * Requires a superuser: anyone who writes a provider can sign in as everybody who is connected to it. Throws
 * `superuser_required`, and `step_up_required` for a call that proved less than some permission asks for.
 */
export async function requireMayWrite(entitled: Entitled): Promise<void> {
  if (!entitled.isSuperuser) throw new AppError('superuser_required');
  await requireProvedAll(entitled);
}

type RoleFields = Pick<ProviderFields, 'role_ids' | 'role_mapping'>;

/**
 * Requires that the provider may give these roles. Throws `role_not_found`, `validation_failed` for a system role, which
 * nobody gets without an administrator, and `privilege_escalation` for permissions that the caller lacks.
 */
export async function requireRoles(
  entitled: Entitled,
  { role_ids: given, role_mapping: mapping }: RoleFields,
): Promise<void> {
  const named = [
    ...given.map((id, index) => ({ id, field: `role_ids.${index}` })),
    ...mapping.map(({ role_id: id }, index) => ({ id, field: `role_mapping.${index}.role_id` })),
  ];
  const ids = [...new Set(named.map(({ id }) => id))];
  // Locks them, so that they gain nothing before this transaction ends.
  await requireMayGrantRoles(entitled, ids);
  const found = await findSystemRoles(entitled.tx, ids);
  for (const { id, field } of named) {
    const isSystem = found.get(id);
    if (isSystem === undefined)
      throw new AppError('role_not_found', {
        errors: [{ field, code: 'unknown_id', message: 'names a role that does not exist' }],
      });
    if (isSystem)
      throw refusal(field, 'system_role', 'must not be a system role; give that to each account by hand');
  }
}

// Shared by the services of service accounts: presents one, locks one for a change, describes it for the audit log.
// It must not change an account.
import type { ServiceAccount } from '@castellan/contract/service-accounts';
import { AppError } from '../../platform/errors.ts';
import type { Versioned } from '../../platform/http/record-version.ts';
import { type Entitled, type Entry, type Locking, lockSubjects } from '../authz/change.ts';
import { findSubjectsBeyond, requireNotBeyond, requireProvedForTakeover } from '../authz/delegation.ts';
import { permissionsOf, rolesOf } from '../authz/effective.ts';
import type { Graph, GraphSource } from '../authz/graph/graph.ts';
import type { PreviewDeps } from '../authz/impact/preview.ts';
import { everywhere } from '../authz/scope.ts';
import { type AccountRow, findAccount } from './store.ts';

export type ServiceAccountDeps = PreviewDeps & { graphSource: GraphSource };

const subjectOf = ({ role_ids }: AccountRow) => ({ is_superuser: false, role_ids });

export function toServiceAccount(row: AccountRow, graph: Graph): ServiceAccount {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    is_active: row.is_active,
    roles: rolesOf(graph, subjectOf(row)).map(({ id, name }) => ({ id, name })),
    permissions: [...permissionsOf(graph, everywhere(subjectOf(row)))],
    external_id: row.external_id,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    created_by_id: row.created_by_id,
  };
}

export const versionedAccount = async (
  deps: ServiceAccountDeps,
  row: AccountRow,
): Promise<Versioned<ServiceAccount>> => ({
  record: toServiceAccount(row, await deps.graphSource.at(row.authz_stamp)),
  version: row.version,
});

/**
 * Locks the account and the caller until the transaction ends, and checks that the caller may act on the account.
 * Throws, in order, 404, 401 or 403 (the caller lost access), `privilege_escalation`.
 */
export async function requireAccount(
  locking: Locking,
  id: string,
): Promise<{ entitled: Entitled; account: AccountRow }> {
  await lockSubjects(locking, { accounts: [id] });
  // A separate statement, so that it sees what was committed while the locks were awaited.
  const account = await findAccount(locking.tx, id);
  if (!account) throw new AppError('service_account_not_found');
  const entitled = await locking.entitle();
  await requireMayActOn(entitled, [id]);
  return { entitled, account };
}

/** Throws `privilege_escalation` if one of the accounts holds built-in permissions that the caller lacks. */
export async function requireMayActOn(entitled: Entitled, ids: readonly string[]): Promise<void> {
  const beyond = await findSubjectsBeyond(
    entitled,
    [...new Set(ids)].map((id) => ({ id, all: false })),
  );
  if (beyond.size > 0)
    throw new AppError('privilege_escalation', {
      detail: 'This service account holds permissions that you do not hold.',
    });
}

/**
 * Decisions about an external id answer with what its account may do, so who gives one to an account holds that, as for a user. Throws
 * `privilege_escalation` or `step_up_required` (403).
 */
export async function requireHoldsAllOf(
  entitled: Entitled,
  { id, name }: Pick<AccountRow, 'id' | 'name'>,
): Promise<void> {
  const targets = [{ id, all: true, field: 'external_id', about: name }];
  await requireNotBeyond(entitled, targets);
  await requireProvedForTakeover(entitled, targets);
}

/** Returns the fields for the audit log. `names`: role ids → names. */
export const snapshotOf = ({
  name,
  description,
  is_active,
  external_id,
}: Pick<AccountRow, 'name' | 'description' | 'is_active' | 'external_id'>) => ({
  name,
  description,
  is_active,
  external_id,
});

/** Returns the audit entry of a change of the account `id`. */
export const accountEntry = (
  action: Entry['action'],
  id: string,
  change: Pick<Entry, 'before' | 'after' | 'details'>,
): Entry => ({ action, resourceType: 'service_account', resourceId: id, ...change });

// Rules of service accounts: who may create and change them, and which roles they get. API keys are in keys.ts.
import type { AccessPreviewEnvelope } from '@castellan/contract/access-changes';
import type { Pagination } from '@castellan/contract/common';
import type {
  CreateServiceAccountBody,
  ServiceAccount,
  ServiceAccountListQuery,
  UpdateServiceAccountBody,
} from '@castellan/contract/service-accounts';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import { canonicalIds } from '../../platform/http/ids.ts';
import type { Settle } from '../../platform/http/plugins/idempotency.ts';
import { requireVersion, type Versioned } from '../../platform/http/record-version.ts';
import { newId } from '../../platform/ids.ts';
import { paginationOf } from '../../platform/pages.ts';
import {
  cleanDescription,
  cleanExternalId,
  cleanName,
  cleanNewName,
  requireNoId,
} from '../../platform/security/record-text.ts';
import {
  lockWantedRoles,
  planRoles,
  rolesDelta,
  rolesEntry,
  takenBy,
  writeRoles,
} from '../assignments/service.ts';
import { authorIdOf, type Caller } from '../authz/caller.ts';
import { change, type Entitled, type Entry, isNonEmpty, lockSubjects, type Run } from '../authz/change.ts';
import { requireMayGrantRoles, requireMayTake } from '../authz/delegation.ts';
import { preview } from '../authz/impact/preview.ts';
import {
  accountEntry,
  requireAccount,
  requireHoldsAllOf,
  type ServiceAccountDeps,
  snapshotOf,
  toServiceAccount,
  versionedAccount,
} from './record.ts';
import {
  assigneeOf,
  planAccountRoles,
  requireMayChangeRoles,
  wantedAccountRoles,
  writeAccountRoles,
} from './role-changes.ts';
import {
  type AccountRow,
  countAccounts,
  deleteAccountRow,
  findAccount,
  findAmbiguous,
  insertAccount,
  listAccounts,
  readAccount,
  updateAccount,
} from './store.ts';

/** Maximum characters of a name. The database repeats it as a CHECK constraint. */
const MAX_NAME_LENGTH = 250;

/** Returns one page of service accounts, sorted by name. */
export async function listServiceAccounts(
  deps: ServiceAccountDeps,
  query: ServiceAccountListQuery,
): Promise<{ data: ServiceAccount[]; pagination: Pagination }> {
  const text = query.search?.trim().normalize('NFC') ?? '';
  const search = text === '' ? null : text;
  const [total, rows] = await Promise.all([
    countAccounts(deps.db, search),
    listAccounts(deps.db, search, query),
  ]);
  const graph = rows[0] && (await deps.graphSource.at(rows[0].authz_stamp));
  return {
    data: graph ? rows.map((row) => toServiceAccount(row, graph)) : [],
    pagination: paginationOf(query, total),
  };
}

export async function getServiceAccount(
  deps: ServiceAccountDeps,
  id: string,
): Promise<Versioned<ServiceAccount>> {
  const account = await findAccount(deps.db, id);
  if (!account) throw new AppError('service_account_not_found');
  return versionedAccount(deps, account);
}

/** Creates a service account. Throws 404 (role), 403 (a role grants permissions that the caller lacks), 409 (name). */
export async function createServiceAccount(
  deps: ServiceAccountDeps,
  caller: Caller,
  body: CreateServiceAccountBody,
  settle: Settle<Versioned<ServiceAccount>>,
): Promise<Versioned<ServiceAccount>> {
  const {
    name: given,
    description: text = '',
    is_active = true,
    role_ids = [],
    external_id = null,
    ...rest
  } = body;
  allHandled(rest);
  const fields = {
    name: cleanNewName(given, MAX_NAME_LENGTH),
    description: cleanDescription(text),
    is_active,
    external_id: cleanExternalId(external_id),
  };
  const roleIds = canonicalIds(role_ids);
  const id = newId();
  return change(
    deps,
    caller,
    async (locking) => {
      const { tx } = locking;
      await lockSubjects(locking, {});
      const assignee = assigneeOf({ id, role_ids: [] });
      const wanted = { assignee, roles: { replace: roleIds }, at: () => 'role_ids' };
      const roles = await lockWantedRoles(tx, [wanted]);
      const entitled = await locking.entitle();
      await requireMayGrantRoles(entitled, roleIds);
      await requireUnambiguous(entitled, { id, ...fields });
      await insertAccount(entitled, { id, ...fields, created_by_id: authorIdOf(caller) });
      const planned = [planRoles(wanted)];
      await writeRoles(entitled, planned);
      const account = await versionedAccount(deps, await readAccount(tx, id));
      const after = { ...fields, roles: [...roles.values()].sort() };
      const delta = { ...rolesDelta(planned), subjects: [{ id, is_active }] };
      const entry = accountEntry('service_account_created', id, { before: null, after });
      return entitled.done(account, delta, entry);
    },
    settle,
  );
}

/**
 * Decisions take names before external ids, so that an account named as the external id of another would be judged in its place. Throws
 * `name_taken` or `external_id_taken` (409).
 */
async function requireUnambiguous(
  entitled: Entitled,
  account: Parameters<typeof findAmbiguous>[1],
): Promise<void> {
  const field = await findAmbiguous(entitled, account);
  if (field === undefined) return;
  const code = `${field}_taken` as const;
  const message = `is the ${field === 'name' ? 'external id' : 'name'} of another service account`;
  throw new AppError(code, { detail: `${field} ${message}.`, errors: [{ field, code, message }] });
}

/** Changes a service account. Writes nothing if every field already has its value. Throws 404, 403, 412, 409. */
export async function updateServiceAccount(
  deps: ServiceAccountDeps,
  caller: Caller,
  id: string,
  body: UpdateServiceAccountBody,
): Promise<Versioned<ServiceAccount>> {
  return versionedAccount(deps, await change(deps, caller, updating(id, body)));
}

export const previewServiceAccountUpdate = async (
  deps: ServiceAccountDeps,
  caller: Caller,
  id: string,
  body: UpdateServiceAccountBody,
): Promise<AccessPreviewEnvelope> =>
  preview(deps, caller, { resourceType: 'service_account', resourceId: id }, updating(id, body));

function updating(id: string, body: UpdateServiceAccountBody): Run<AccountRow> {
  const { name, description, is_active, role_ids, external_id, ...rest } = body;
  allHandled(rest);
  const changed = {
    ...(name === undefined ? {} : { name: cleanName(name, MAX_NAME_LENGTH) }),
    ...(description === undefined ? {} : { description: cleanDescription(description) }),
    ...(is_active === undefined ? {} : { is_active }),
    ...(external_id === undefined ? {} : { external_id: cleanExternalId(external_id) }),
  };
  const roles = role_ids && { replace: canonicalIds(role_ids) };
  return async (locking) => {
    const { tx, caller } = locking;
    const { entitled, account } = await requireAccount(locking, id);
    await requireVersion(caller.ifMatch, account.version, () => toServiceAccount(account, caller.graph));
    const before = snapshotOf(account);
    const after = { ...before, ...changed };
    if (after.name !== before.name) requireNoId(after.name);
    if (after.external_id !== before.external_id) await requireHoldsAllOf(entitled, account);
    const wanted = roles ? [{ id, roles, at: () => 'role_ids' }] : [];
    const accounts = new Map([[id, account]]);
    const names = await lockWantedRoles(tx, wantedAccountRoles(wanted, accounts));
    const plans = planAccountRoles(wanted, accounts);
    await requireMayChangeRoles(entitled, plans);
    await requireMayTake(entitled, { assignments: takenBy(plans) });
    const isFieldChange = JSON.stringify(after) !== JSON.stringify(before);
    const entries: readonly Entry[] = [
      ...(isFieldChange ? [accountEntry('service_account_updated', id, { before, after })] : []),
      ...plans.map((plan) => rolesEntry(plan, names)),
    ];
    if (!isNonEmpty(entries)) return entitled.unchanged(account);
    await writeAccountRoles(entitled, plans);
    if (after.name !== before.name || after.external_id !== before.external_id)
      await requireUnambiguous(entitled, { id, ...after });
    if (isFieldChange) await updateAccount(entitled, id, after);
    const delta = {
      ...rolesDelta(plans),
      subjects: after.is_active === before.is_active ? [] : [{ id, is_active: after.is_active }],
    };
    return entitled.done(await readAccount(tx, id), delta, ...entries);
  };
}

/** Deletes a service account with its roles and keys. Returns the deleted record. Throws 404, 403, 412. */
export async function deleteServiceAccount(
  deps: ServiceAccountDeps,
  caller: Caller,
  id: string,
): Promise<ServiceAccount> {
  return (await versionedAccount(deps, await change(deps, caller, deleting(id)))).record;
}

export const previewServiceAccountDeletion = (
  deps: ServiceAccountDeps,
  caller: Caller,
  id: string,
): Promise<AccessPreviewEnvelope> =>
  preview(deps, caller, { resourceType: 'service_account', resourceId: id }, deleting(id));

const deleting =
  (id: string): Run<AccountRow> =>
  async (locking) => {
    const { caller } = locking;
    const { entitled, account } = await requireAccount(locking, id);
    if (id === caller.principal.id) throw new AppError('self_delete');
    await requireVersion(caller.ifMatch, account.version, () => toServiceAccount(account, caller.graph));
    await requireMayTake(entitled, {
      assignments: [{ id, removed: account.role_ids, at: () => 'role_ids', about: `service account ${id}` }],
    });
    await deleteAccountRow(entitled, id);
    const entry = accountEntry('service_account_deleted', id, { before: snapshotOf(account), after: null });
    return entitled.done(account, { subjects: [{ id, is_deleted: true }] }, entry);
  };

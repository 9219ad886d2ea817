// Changes the roles of one or many service accounts, and checks who may do so.
// It must not lock an account: the accounts are locked before, with the caller.
import { AppError } from '../../platform/errors.ts';
import { requireAllFound } from '../../platform/http/ids.ts';
import type { Tx } from '../../schema/database.ts';
import {
  type Assignee,
  changesRoles,
  nameOf,
  type PlannedRoles,
  planRoles,
  type RoleChange,
  requireMayAdd,
  type WantedRoles,
  writeRoles,
} from '../assignments/service.ts';
import type { Entitled } from '../authz/change.ts';
import { requireNotBeyond } from '../authz/delegation.ts';
import { type AccountRow, findAccounts, touchAccounts } from './store.ts';

/** A wanted change of the roles of one service account. `at` returns the path of a field of it in the request. */
export type AccountChange = { id: string; roles: RoleChange; at: (field: string) => string };

/** The accounts of a request by id, locked. */
export type LockedAccounts = ReadonlyMap<string, AccountRow>;

/** Returns the locked accounts by id. Throws `service_account_not_found`. */
export async function requireAccounts(
  tx: Tx,
  wanted: readonly AccountChange[],
  fieldOf: (id: string) => string,
): Promise<LockedAccounts> {
  const ids = wanted.map(({ id }) => id);
  const accounts = new Map((await findAccounts(tx, ids)).map((account) => [account.id, account]));
  requireAllFound('service_account_not_found', fieldOf, ids, [...accounts.keys()]);
  return accounts;
}

export const assigneeOf = ({ id, role_ids }: Pick<AccountRow, 'id' | 'role_ids'>): Assignee => ({
  type: 'service_account',
  id,
  role_ids,
});

export const wantedAccountRoles = (
  wanted: readonly AccountChange[],
  accounts: LockedAccounts,
): WantedRoles[] =>
  wanted.map(({ id, roles, at }) => {
    const account = accounts.get(id);
    if (!account) throw new AppError('service_account_not_found');
    return { assignee: assigneeOf(account), roles, at };
  });

/** Returns the changes that are needed. Accounts that stay as they are do not appear. */
export const planAccountRoles = (
  wanted: readonly AccountChange[],
  accounts: LockedAccounts,
): PlannedRoles[] => wantedAccountRoles(wanted, accounts).map(planRoles).filter(changesRoles);

/**
 * Requires that the caller holds what the added roles grant, and the built-in permissions of the accounts. What the plans
 * take away is for the caller to check (`requireMayTake`). Throws `privilege_escalation`.
 */
export async function requireMayChangeRoles(
  entitled: Entitled,
  plans: readonly PlannedRoles[],
): Promise<void> {
  await requireMayAdd(entitled, plans);
  await requireNotBeyond(
    entitled,
    plans.map(({ assignee, at }) => ({
      id: assignee.id,
      all: false,
      field: at('role_id'),
      about: nameOf(assignee),
    })),
  );
}

/** Writes the plans. The accounts get a new version. */
export async function writeAccountRoles(entitled: Entitled, plans: readonly PlannedRoles[]): Promise<void> {
  if (plans.length === 0) return;
  await writeRoles(entitled, plans);
  await touchAccounts(
    entitled,
    plans.map(({ assignee }) => assignee.id),
  );
}

// Changes the roles of one or many service accounts, and checks who may do so.
// It must not lock an account: the accounts are locked before, with the caller.
import type { FieldError } from '@castellan/contract/envelope';
import { AppError } from '../../platform/errors.ts';
import { requireAllFound } from '../../platform/http/ids.ts';
import type { Tx } from '../../schema/database.ts';
import {
  differenceOf,
  type RoleChange,
  type RoleNames,
  recordedRoles,
  type WantedRoles,
} from '../authz/assignment.ts';
import type { Entitled, Entry } from '../authz/change.ts';
import { findSubjectsBeyond, requireMayAssign, type Taken } from '../authz/delegation.ts';
import type { AccessDelta } from '../authz/impact.ts';
import { accountEntry } from './record.ts';
import { type AccountRow, addRoles, findAccounts, removeRoles, touchAccounts } from './store.ts';

/** A wanted change of the roles of one service account. `at` returns the path of a field of it in the request. */
export type AccountChange = { id: string; roles: RoleChange; at: (field: string) => string };

/** The roles that a locked account gets and loses. */
export type PlannedRoles = {
  account: AccountRow;
  added: readonly string[];
  removed: readonly string[];
  at: (field: string) => string;
};

/** The accounts of a request by id, locked. */
export type LockedAccounts = ReadonlyMap<string, AccountRow>;

// A longer list would not help the caller.
const MAX_NAMED = 20;

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

export const wantedAccountRoles = (
  wanted: readonly AccountChange[],
  accounts: LockedAccounts,
): WantedRoles[] =>
  wanted.map(({ id, roles, at }) => ({ roles, held: accounts.get(id)?.role_ids ?? [], at }));

/** Returns the changes that are needed. Accounts that stay as they are do not appear. */
export const planRoles = (wanted: readonly AccountChange[], accounts: LockedAccounts): PlannedRoles[] =>
  wanted.flatMap(({ id, roles, at }) => {
    const account = accounts.get(id);
    if (!account) throw new AppError('service_account_not_found');
    const { added, removed } = differenceOf({ roles, held: account.role_ids });
    return added.length + removed.length > 0 ? [{ account, added, removed, at }] : [];
  });

/**
 * Requires that the caller holds what the added roles grant, and the built-in permissions of the accounts. What the plans
 * take away is for the caller to check (`requireMayTake`). Throws `privilege_escalation`.
 */
export async function requireMayChangeRoles(
  entitled: Entitled,
  plans: readonly PlannedRoles[],
): Promise<void> {
  await requireMayAssign(
    entitled,
    plans.map(({ account, added, at }) => ({ added, at, about: `service account ${account.id}` })),
  );
  const beyond = await findSubjectsBeyond(
    entitled,
    plans.map(({ account }) => ({ id: account.id, all: false })),
  );
  const errors = plans.flatMap(({ account, at }): FieldError[] =>
    beyond.has(account.id)
      ? [
          {
            field: at('role_id'),
            code: 'privilege_escalation',
            message: `holds permissions that you do not hold (service account ${account.id})`,
          },
        ]
      : [],
  );
  if (errors.length > 0) throw new AppError('privilege_escalation', { errors: errors.slice(0, MAX_NAMED) });
}

/** Returns the roles that accounts lose by the plans. */
export const takenBy = (plans: readonly PlannedRoles[]): NonNullable<Taken['assignments']> =>
  plans.map(({ account, removed, at }) => ({
    id: account.id,
    removed,
    at,
    about: `service account ${account.id}`,
  }));

/** Writes the plans. The accounts get a new version. */
export async function writeRoles(entitled: Entitled, plans: readonly PlannedRoles[]): Promise<void> {
  if (plans.length === 0) return;
  await removeRoles(entitled, linksOf(plans, 'removed'));
  await addRoles(entitled, linksOf(plans, 'added'));
  await touchAccounts(
    entitled,
    plans.map(({ account }) => account.id),
  );
}

const linksOf = (plans: readonly PlannedRoles[], which: 'added' | 'removed') =>
  plans.flatMap((plan) => plan[which].map((roleId) => ({ accountId: plan.account.id, roleId })));

export const rolesDelta = (plans: readonly PlannedRoles[]): AccessDelta => ({
  subjectRoles: plans.map(({ account, added, removed }) => ({ subjectId: account.id, added, removed })),
});

/** Returns the audit entry of the changed roles of an account. */
export const rolesEntry = (plan: PlannedRoles, names: RoleNames): Entry =>
  accountEntry(
    'service_account_roles_changed',
    plan.account.id,
    recordedRoles(names, plan.account.role_ids, plan),
  );

// Computes who gains and who loses which permissions by a change of access, from one snapshot and without locks.
// It must not decide whether the change is allowed.
import type { AccessImpact } from '@castellan/contract/access-changes';
import type { Db } from '../../../schema/database.ts';
import { compareHoldings, type ImpactRow, planForValues } from './impact-store.ts';

/** What a change of access adds and removes. Each role and each subject is named at most once in a list. */
export type AccessDelta = {
  /** Permissions that roles get and lose; ids. */
  rolePermissions?: readonly { roleId: string; added: readonly string[]; removed: readonly string[] }[];
  /** Roles that users and service accounts get and lose; ids. */
  subjectRoles?: readonly { subjectId: string; added: readonly string[]; removed: readonly string[] }[];
  /** Users and service accounts that get another state. A missing field stays as it is. */
  subjects?: readonly { id: string; is_active?: boolean; is_superuser?: boolean; is_deleted?: true }[];
};

/** The delta of a change that writes nothing of access. */
export const sameAccess: AccessDelta = {};

/**
 * Returns what the change does to active users and service accounts, in one snapshot. A subject holds nothing while it
 * is inactive or deleted, everything as a superuser, and otherwise the permissions of its roles. Adding what is there
 * already, or removing what is not, has no effect. `named` subjects are named, the first by name.
 */
export const findImpact = (db: Db, delta: AccessDelta, named: number): Promise<AccessImpact> =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      await planForValues(tx);
      return toImpact(await compareHoldings(tx, changesIn(delta), named));
    });

const changesIn = ({ rolePermissions = [], subjectRoles = [], subjects = [] }: AccessDelta) => ({
  permissions: rolePermissions.flatMap(({ roleId: role_id, added, removed }) => [
    ...added.map((permission_id) => ({ role_id, permission_id, added: true })),
    ...removed.map((permission_id) => ({ role_id, permission_id, added: false })),
  ]),
  roles: subjectRoles.flatMap(({ subjectId: subject_id, added, removed }) => [
    ...added.map((role_id) => ({ subject_id, role_id, added: true })),
    ...removed.map((role_id) => ({ subject_id, role_id, added: false })),
  ]),
  subjects: subjects.map(({ id, is_active = null, is_superuser = null, is_deleted = false }) => ({
    id,
    is_active,
    is_superuser,
    is_deleted,
  })),
});

function toImpact({ gaining, losing, affected, inactive, permissions, subjects }: ImpactRow): AccessImpact {
  const byName = permissions.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return {
    gaining,
    losing,
    gained: byName.flatMap((one) =>
      one.gaining > 0 ? [{ permission: one.name, subjects: one.gaining }] : [],
    ),
    lost: byName.flatMap((one) => (one.losing > 0 ? [{ permission: one.name, subjects: one.losing }] : [])),
    subjects: subjects.map((subject) => ({
      ...subject,
      gained: subject.gained.toSorted(),
      lost: subject.lost.toSorted(),
    })),
    more: affected - subjects.length,
    inactive,
  };
}

// An obviously right, slow answer to every question about access, from the rows of the tables.
// It must not use code of the service.
import type { TestService } from '@castellan/testing/harness';

type SubjectType = 'user' | 'service_account' | 'role';
export type OracleSubject = {
  type: SubjectType;
  id: string;
  name: string;
  isActive: boolean;
  isSuperuser: boolean;
  roles: string[];
};
export type Facts = {
  subjects: OracleSubject[];
  /** Name → id. */
  permissions: Map<string, string>;
  /** Role id → ids of its permissions. */
  granted: Map<string, Set<string>>;
};
export type Decision = { decision: boolean; reason: string };

type Pair = { a: string; b: string };

/** Reads everything. */
export async function readFacts(service: TestService): Promise<Facts> {
  const [users, accounts, roles, permissions, userRoles, accountRoles, rolePermissions] = await Promise.all([
    service.sql<{ id: string; name: string; is_active: boolean; is_superuser: boolean }>(
      "select id, rtrim(first_name || ' ' || last_name) as name, is_active, is_superuser from users order by id",
    ),
    service.sql<{ id: string; name: string; is_active: boolean }>(
      'select id, name, is_active from service_accounts order by id',
    ),
    service.sql<{ id: string; name: string }>('select id, name from roles order by id'),
    service.sql<{ id: string; name: string }>('select id, name from permissions order by id'),
    service.sql<Pair>('select user_id as a, role_id as b from user_roles order by 1, 2'),
    service.sql<Pair>(
      'select service_account_id as a, role_id as b from service_account_roles order by 1, 2',
    ),
    service.sql<Pair>('select role_id as a, permission_id as b from role_permissions order by 1, 2'),
  ]);
  const rolesOf = (pairs: Pair[], id: string) => pairs.filter(({ a }) => a === id).map(({ b }) => b);
  return {
    subjects: [
      ...users.map(
        (user): OracleSubject => ({
          type: 'user',
          id: user.id,
          name: user.name,
          isActive: user.is_active,
          isSuperuser: user.is_superuser,
          roles: rolesOf(userRoles, user.id),
        }),
      ),
      ...accounts.map(
        (account): OracleSubject => ({
          type: 'service_account',
          id: account.id,
          name: account.name,
          isActive: account.is_active,
          isSuperuser: false,
          roles: rolesOf(accountRoles, account.id),
        }),
      ),
      ...roles.map(
        (role): OracleSubject => ({
          type: 'role',
          id: role.id,
          name: role.name,
          isActive: true,
          isSuperuser: false,
          roles: [role.id],
        }),
      ),
    ],
    permissions: new Map(permissions.map(({ id, name }) => [name, id])),
    granted: new Map(
      roles.map(({ id }) => [id, new Set(rolePermissions.filter(({ a }) => a === id).map(({ b }) => b))]),
    ),
  };
}

/** What the roles of the subject give, whatever its state. Sorted. */
export const heldByRoles = (facts: Facts, subject: OracleSubject): string[] =>
  [...facts.permissions]
    .filter(([, id]) => subject.roles.some((role) => facts.granted.get(role)?.has(id)))
    .map(([name]) => name)
    .sort();

/** What the subject may do now. Sorted. */
export function mayDo(facts: Facts, subject: OracleSubject): string[] {
  if (!subject.isActive) return [];
  return subject.isSuperuser ? [...facts.permissions.keys()].sort() : heldByRoles(facts, subject);
}

export function decide(facts: Facts, subject: OracleSubject | undefined, permission: string): Decision {
  if (!subject) return { decision: false, reason: 'unknown_subject' };
  if (!facts.permissions.has(permission)) return { decision: false, reason: 'unknown_permission' };
  if (!subject.isActive) return { decision: false, reason: 'inactive' };
  if (subject.isSuperuser) return { decision: true, reason: 'superuser' };
  const isHeld = heldByRoles(facts, subject).includes(permission);
  return { decision: isHeld, reason: isHeld ? 'granted' : 'not_granted' };
}

export type Impact = {
  gaining: number;
  losing: number;
  inactive: number;
  gained: { permission: string; subjects: number }[];
  lost: { permission: string; subjects: number }[];
};

/** Compares two states: what active users and service accounts gained and lost, each counted once. */
export function differenceOf(before: Facts, after: Facts): Impact {
  const gained = new Map<string, number>();
  const lost = new Map<string, number>();
  const impact = { gaining: 0, losing: 0, inactive: 0 };
  const holders = (facts: Facts) => facts.subjects.filter(({ type }) => type !== 'role');
  const raise = (counts: Map<string, number>, names: string[]) => {
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  };
  for (const was of holders(before)) {
    const is = holders(after).find(({ id }) => id === was.id);
    const [had, has] = [mayDo(before, was), is ? mayDo(after, is) : []];
    const [more, less] = [
      has.filter((name) => !had.includes(name)),
      had.filter((name) => !has.includes(name)),
    ];
    if (more.length > 0) impact.gaining += 1;
    if (less.length > 0) impact.losing += 1;
    raise(gained, more);
    raise(lost, less);
    if (!was.isActive && is && !is.isActive) {
      const wouldHold = (facts: Facts, one: OracleSubject) => mayDo(facts, { ...one, isActive: true }).join();
      if (wouldHold(before, was) !== wouldHold(after, is)) impact.inactive += 1;
    }
  }
  const listed = (counts: Map<string, number>) =>
    [...counts]
      .map(([permission, subjects]) => ({ permission, subjects }))
      .sort((a, b) => (a.permission < b.permission ? -1 : 1));
  return { ...impact, gained: listed(gained), lost: listed(lost) };
}

// Why an act on a user is not possible, said before it is tried. The service checks the same.
import type { User } from '@castellan/sdk';
import { acting } from '../../data/acting/acting.ts';
import { type Me, useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';

export type UserRules = {
  isSelf: boolean;
  /** Null: possible. Each is a sentence for people. */
  edit: string | null;
  roles: string | null;
  removeRoles: string | null;
  /** The service signs unverified people out. */
  unverify: string | null;
  deactivate: string | null;
  demote: string | null;
  remove: string | null;
  erase: string | null;
  actAs: string | null;
  password: string | null;
  sessions: string | null;
  /** To end the access of applications. */
  applications: string | null;
  /** To end personal access tokens. */
  tokens: string | null;
  resetFactors: string | null;
};

export function rulesFor({ user: self, can }: Me, user: User): UserRules {
  const need = (permission: string): string | null =>
    can(permission) ? null : t.common.forbidden.reason(permission);
  const isSelf = self.id === user.id;
  const own = isSelf ? t.users.rules.self : null;
  const superuser = user.is_superuser && !self.is_superuser ? t.users.rules.superuser : null;
  const edit = need('users.update') ?? superuser;
  const roles = need('user.update') ?? superuser;
  return {
    isSelf,
    edit,
    roles,
    // A superuser keeps every permission.
    removeRoles: roles ?? (self.is_superuser ? null : own),
    unverify: edit ?? (user.verified ? own : null),
    deactivate: edit ?? own,
    demote: edit ?? (self.is_superuser ? own : t.users.rules.onlySuperusers),
    remove: need('users.delete') ?? superuser ?? own,
    erase: need('users.delete') ?? superuser ?? own,
    actAs:
      need('users.act_as') ??
      (acting ? t.users.rules.acting : null) ??
      (isSelf ? t.users.rules.asOneself : null) ??
      (user.is_superuser && !self.is_superuser ? t.users.rules.asSuperuser : null) ??
      (user.invited_at === null ? null : t.users.rules.asInvited) ??
      (user.is_active ? null : t.users.rules.asInactive),
    password: edit ?? (isSelf ? t.users.rules.ownPassword : null),
    sessions: edit,
    applications: need('session.revoke') ?? superuser,
    tokens: need('session.revoke') ?? superuser,
    resetFactors:
      need('second_factor.reset') ??
      superuser ??
      (isSelf ? t.users.rules.ownFactors : null) ??
      (user.is_active ? null : t.users.rules.inactiveReset),
  };
}

export const useRules = (user: User): UserRules => rulesFor(useMe(), user);

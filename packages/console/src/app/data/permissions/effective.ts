// Reads what a subject may do, by the operation that the person may use for it.
// It must not ask for what the person may not see: `missing` says which permission that needs.
import type { PermissionSource } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type ReadState, reading } from '../api.ts';
import { useMe } from '../me.tsx';

export type EffectiveSubject = { type: 'user' | 'service_account' | 'me'; id: string };

/** Returns the query, whether the subject is the signed-in person, and the permission that they lack for it, if any. */
export function useEffectivePermissions(subject: EffectiveSubject) {
  const me = useMe();
  const isMe = subject.type === 'me' || subject.id === me.user.id;
  const needed = subject.type === 'service_account' ? 'service_account.read' : 'users.read';
  const missing = isMe || me.can(needed) ? null : needed;
  const query = useQuery({
    ...(isMe
      ? reading('GET /api/v1/users/me/effective-permissions', {})
      : subject.type === 'service_account'
        ? reading('GET /api/v1/service-accounts/{service_account_id}/effective-permissions', {
            path: { service_account_id: subject.id },
          })
        : reading('GET /api/v1/users/{user_id}/effective-permissions', { path: { user_id: subject.id } })),
    enabled: missing === null,
  });
  return { query, isMe, missing };
}

/**
 * Returns all permissions of the signed-in person, and the query that reads them. `own` is null if they are a superuser, who holds
 * every one, or while they are not read.
 */
export function useOwnPermissions(): { own: ReadonlySet<string> | null; read: ReadState } {
  const { user } = useMe();
  const read = useQuery({
    ...reading('GET /api/v1/users/me/effective-permissions', {}),
    enabled: !user.is_superuser,
  });
  const { data } = read;
  const own = useMemo(() => data && new Set(data.data.permissions.map(({ name }) => name)), [data]) ?? null;
  return { own, read };
}

const SEPARATOR = ' › ';

/** Returns the paths of the role groups of a role, one below the other. */
export const pathsOf = ({ role_groups }: Pick<PermissionSource, 'role_groups'>): string[] =>
  role_groups.map((path) => path.join(SEPARATOR));

// Which roles hold a permission that the person lacks, as far as they may know it.
import { useQuery } from '@tanstack/react-query';
import { call } from '../api.ts';
import { allPermissions, allRoles, fullRoles } from '../catalogue.ts';
import { useMe } from '../me.tsx';

/**
 * `names` is undefined until the roles are read. The service tells nobody without `role.read` or `access.explain`, and what cannot
 * be read is not known either.
 */
export type RolesWith = { mayKnow: boolean; names: string[] | undefined };

/** Returns which roles hold a permission that the person lacks. */
export function useRolesWith(permission: string): RolesWith {
  const { user, can } = useMe();
  const mayRead = can('role.read');
  const mayList = mayRead && can('permission.read');
  const mayExplain = !mayRead && can('access.explain');
  const permissions = useQuery({ ...allPermissions(), enabled: mayList });
  const roles = useQuery({ ...allRoles, enabled: mayList });
  const full = useQuery({ ...fullRoles, enabled: mayRead && !mayList });
  const explained = useQuery({
    queryKey: ['POST /api/v1/access/explain', user.id, permission],
    queryFn: ({ signal }) =>
      call('POST /api/v1/access/explain', {
        body: { subject: { type: 'user', id: user.id }, permission },
        signal,
      }),
    enabled: mayExplain,
  });
  const namesOf = (): string[] | undefined => {
    if (mayExplain) return explained.data?.data.nearest.map(({ role }) => role.name);
    if (!mayList)
      return full.data
        ?.filter((role) => role.permissions.some(({ name }) => name === permission))
        .map(({ name }) => name);
    const id = permissions.data?.find(({ name }) => name === permission)?.id;
    return permissions.data && id === undefined
      ? []
      : roles.data?.filter((role) => role.permission_ids.includes(id ?? '')).map(({ name }) => name);
  };
  const reads = [permissions, roles, full, explained];
  return { mayKnow: (mayRead || mayExplain) && !reads.some(({ error }) => error), names: namesOf() };
}

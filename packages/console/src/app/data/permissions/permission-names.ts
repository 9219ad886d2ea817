// The names of all permissions, to choose from.
import { useQuery } from '@tanstack/react-query';
import { allPermissions } from '../catalogue.ts';
import { useCan } from '../me.tsx';

/** Returns the permissions; none for people who may not read them. */
export function usePermissionNames() {
  const mayRead = useCan('permission.read');
  const query = useQuery({ ...allPermissions(), enabled: mayRead });
  return { permissions: query.data, read: query, mayRead };
}

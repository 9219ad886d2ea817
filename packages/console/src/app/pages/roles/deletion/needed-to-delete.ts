// Which permissions the deletion of a role needs.
import type { Holder } from '@castellan/sdk';

/** Returns the permissions that it takes to delete the role together with what stands in the way. */
export const neededToDelete = (
  { permission_ids }: { permission_ids: readonly string[] },
  holders: readonly Pick<Holder, 'type'>[],
): string[] => [
  'access.change',
  'role.delete',
  ...(permission_ids.length > 0 ? ['role.update'] : []),
  ...(holders.some(({ type }) => type === 'user') ? ['user.update'] : []),
  ...(holders.some(({ type }) => type === 'service_account') ? ['service_account.update'] : []),
];

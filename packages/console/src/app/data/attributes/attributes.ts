// The catalogue of user attributes, for the pages that show or ask for values.
// It must not read values of users.
import type { OwnAttribute, UserAttribute } from '@castellan/sdk';
import { type UseQueryOptions, useQuery } from '@tanstack/react-query';
import { callInQuery } from '../api.ts';
import { useMe } from '../me.tsx';

/** What a control of a form needs to know. */
export type Attribute = Pick<
  OwnAttribute,
  'name' | 'label' | 'description' | 'type' | 'values' | 'max_length'
>;

/** There are never more (contract: MAX_ATTRIBUTES). */
const MOST = 100;

/** All declared attributes, sorted by name. */
export const allUserAttributes: UseQueryOptions<UserAttribute[]> = {
  queryKey: ['GET /api/v1/user-attributes', 'all'],
  queryFn: async (context) =>
    (await callInQuery(context, 'GET /api/v1/user-attributes', { query: { page: 1, size: MOST } })).data,
};

/** Returns all declared attributes, for people who may read them: `attributes` is empty until they are read. */
export function useUserAttributes() {
  const { can } = useMe();
  const mayRead = can('user_attribute.read');
  const read = useQuery({ ...allUserAttributes, enabled: mayRead });
  return { attributes: read.data ?? [], isRead: read.data !== undefined, mayRead, read };
}

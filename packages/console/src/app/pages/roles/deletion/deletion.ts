// What the deletion of a role needs: who has it, and the requests that take it from them.
import { versionIn } from '@castellan/contract/etags';
import type { AccessChange, Holder, HolderPage } from '@castellan/sdk';
import { call } from '../../../data/api.ts';
import type { CountedRole } from '../../../data/catalogue.ts';

/** One request changes so many records. */
export const BATCH = 1_000;
/** The last request deletes the role, too, and the role is one of its records. */
export const MOST_HOLDERS = BATCH - 1;
const MOST_PER_PAGE = 100;

export type DeletedRole = Pick<CountedRole, 'id' | 'name' | 'permission_ids'>;

export type HolderId = Pick<Holder, 'type' | 'id'>;

/** Returns at least `most` holders, or all if there are fewer, and how many there are. */
export async function readHolders(
  roleId: string,
  most: number,
  signal?: AbortSignal,
): Promise<{ holders: Holder[]; total: number }> {
  const holders: Holder[] = [];
  let total = 0;
  let cursor: string | null = '';
  while (cursor !== null && holders.length < most) {
    const page: HolderPage = await call('GET /api/v1/roles/{role_id}/holders', {
      path: { role_id: roleId },
      query: { size: MOST_PER_PAGE, ...(cursor === '' ? {} : { cursor }) },
      signal,
    });
    holders.push(...page.data);
    total = page.total;
    cursor = page.next_cursor;
  }
  return { holders, total };
}

const subjectOf = ({ type, id }: HolderId) =>
  type === 'user' ? { user_id: id } : { service_account_id: id };

export const takeRole = (roleId: string, holders: readonly HolderId[]): AccessChange[] =>
  holders.map((holder) => ({ ...subjectOf(holder), remove_role_ids: [roleId] }));

export const giveRole = (roleId: string, holders: readonly HolderId[]): AccessChange[] =>
  holders.map((holder) => ({ ...subjectOf(holder), add_role_ids: [roleId] }));

/** Takes all permissions from the role, if it is the version of the ETag. */
export const emptyRole = ({ id, permission_ids }: DeletedRole, etag: string | null): AccessChange => {
  const version = versionIn(etag);
  return {
    role_id: id,
    ...(permission_ids.length > 0 ? { remove_permission_ids: [...permission_ids] } : {}),
    ...(version === null ? {} : { version }),
  };
};

/** Takes the role from these holders, all that are left, and deletes it. */
export const deleteWith = (
  role: DeletedRole,
  etag: string | null,
  holders: readonly HolderId[],
): AccessChange[] => [{ ...emptyRole(role, etag), delete: true }, ...takeRole(role.id, holders)];

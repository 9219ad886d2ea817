// Rules of permission groups: the names of their permissions begin with the name of the group.
import type {
  CreatePermissionGroupBody,
  PermissionGroup,
  UpdatePermissionGroupBody,
} from '@castellan/contract/permission-records';
import { permissionCatalogue } from '@castellan/contract/permissions';
import { nest } from '../../platform/db/trees.ts';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import { cleanName } from '../../platform/security/record-text.ts';
import type { Entitled } from '../authz/change.ts';
import { requireHoldsAll } from '../authz/delegation.ts';
import { requireMayLift } from '../authz/requirements/changing.ts';
import { createGroupTrees, type GroupInput, type GroupNode } from '../group-trees/service.ts';
import { MAX_PERMISSION_NAME_LENGTH } from '../permissions/service.ts';
import {
  countMembers,
  crossesOwnNames,
  findPermissions,
  findSubtrees,
  type GroupRow,
  lockTree,
  renamePermissions,
} from './store.ts';

export { lockTree as lockPermissionGroupTree } from './store.ts';

/** Maximum characters of a name (decisions: 1 to 250). A group with more than 98 can only contain groups. */
const MAX_NAME_LENGTH = 250;

/** Names of the groups of built-in permissions. */
const builtIn: ReadonlySet<string> = new Set(Object.keys(permissionCatalogue));

export const permissionGroups = createGroupTrees<GroupRow, PermissionGroup>({
  table: 'permission_groups',
  type: 'permission_group',
  actions: {
    created: 'permission_group_created',
    updated: 'permission_group_updated',
    moved: 'permission_group_moved',
    deleted: 'permission_group_deleted',
  },
  memberNoun: 'permission',
  lockTree,
  cleanName: cleanGroupName,
  findSubtrees,
  // The return type of `nest` describes one level of children only.
  nest: (rows) => nest(rows, 'groups') as PermissionGroup[],
  rename,
  countMembers,
});

/** Reads a body. Throws `validation_failed` if `parent_id` and its alias `permission_group_id` differ. */
export function readPermissionGroup(body: CreatePermissionGroupBody): GroupInput & { name: string };
export function readPermissionGroup(body: UpdatePermissionGroupBody): GroupInput;
export function readPermissionGroup(body: UpdatePermissionGroupBody): GroupInput {
  const { parent_id: one, permission_group_id: other, name, description, ...rest } = body;
  allHandled(rest);
  if (one !== undefined && other !== undefined && one?.toLowerCase() !== other?.toLowerCase())
    throw new AppError('validation_failed', {
      detail: 'parent_id and permission_group_id name different groups. Send one of them.',
    });
  const parent = one === undefined ? other : one;
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(parent === undefined ? {} : { parent_id: parent }),
  };
}

// No group can have this name, because control characters are refused.
const TEMPORARY_NAME = '\u0001';

/**
 * Renames the permissions of a group. Call it under the lock of the tree, so that only one rename uses the temporary
 * name. Products ask by name, so a rename hands their holders whatever a product asks for by the new names, and every
 * permission is held at least by `Admin`. Therefore only callers who hold every permission may rename one.
 */
async function rename(entitled: Entitled, group: GroupNode, newName: string): Promise<void> {
  const { tx } = entitled;
  const permissions = await findPermissions(tx, group.id);
  if (permissions.length > 0)
    await requireHoldsAll(
      entitled,
      'Renaming this group renames permissions that somebody holds. Only a superuser, or a caller who holds every permission, can do this.',
    );
  await requireMayLift(
    entitled,
    permissions.map(({ id }) => id),
  );
  if (builtIn.has(group.name.toLowerCase()))
    throw new AppError('conflict', {
      detail: `The group "${group.name}" contains built-in permissions. It cannot be renamed.`,
    });
  const growth = lengthOf(newName) - lengthOf(group.name);
  if (permissions.some((permission) => lengthOf(permission.name) + growth > MAX_PERMISSION_NAME_LENGTH))
    throw new AppError('validation_failed', {
      detail: `name is too long for the permissions of this group: with it a permission would have more than ${MAX_PERMISSION_NAME_LENGTH} characters.`,
      errors: [{ field: 'name', code: 'too_long', message: 'is too long for the permissions of this group' }],
    });
  // Two steps only if one is not enough. After the first step all other changes of permissions wait for this
  // transaction, and one of them may hold a name that the second step waits for, which is a deadlock.
  if (!(await crossesOwnNames(tx, group, newName))) return renamePermissions(entitled, group, newName);
  await renamePermissions(entitled, group, TEMPORARY_NAME);
  await renamePermissions(entitled, { id: group.id, name: TEMPORARY_NAME }, newName);
}

/** Returns the number of code points, as `char_length` in PostgreSQL does. */
const lengthOf = (text: string): number => [...text].length;

/** Returns the normalized name. Refuses a dot at either end, which would make names of permissions unreadable. */
function cleanGroupName(value: string): string {
  const name = cleanName(value, MAX_NAME_LENGTH);
  if (!/^\.|\.$/.test(name)) return name;
  throw new AppError('validation_failed', {
    detail: 'name must not start or end with a dot.',
    errors: [{ field: 'name', code: 'invalid_name', message: 'must not start or end with a dot' }],
  });
}

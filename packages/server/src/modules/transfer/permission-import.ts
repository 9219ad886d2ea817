// Finds the permissions of an imported role by their names, and creates missing ones if the operator wants that.
// It must not create a permission whose name the API would refuse.
import { administrativePermissions } from '@castellan/contract/permissions';
import { newId, UUID } from '../../platform/ids.ts';
import { cleanText } from '../../platform/security/text.ts';
import type { Tx } from '../../schema/database.ts';
import { type ChangeLog, recordChange } from '../audit/service.ts';
import { insertPermission, insertPermissionGroup, lockByName } from './record-store.ts';
import type { Fault } from './verdict.ts';

/** With the name of the group. The database repeats it as a CHECK constraint. */
const MAX_PERMISSION_NAME_LENGTH = 100;

const administrative: ReadonlySet<string> = new Set(administrativePermissions);

/**
 * Returns the ids of the permissions, or what is wrong with their names. Without `privileged`, permissions to administer the
 * service are refused.
 */
export async function ensurePermissions(
  tx: Tx,
  auditLog: ChangeLog,
  names: readonly string[],
  { createPermissions: create, privileged }: { createPermissions: boolean; privileged: boolean },
): Promise<{ ids: string[] } | { errors: Fault[] }> {
  const found = await lockByName(tx, 'permissions', names);
  const known = new Set(found.map(({ name }) => name.toLowerCase()));
  const missing = names.filter((name) => !known.has(name.toLowerCase()));
  const ids = found.map(({ id }) => id);
  const isRefused = (name: string): boolean => !privileged && administrative.has(name.toLowerCase());
  const errors: Fault[] = [...found.map(({ name }) => name), ...missing].filter(isRefused).map((name) => ({
    field: 'permissions',
    code: 'needs_privileged',
    message: `"${name}" is a built-in permission to administer Castellan: roles get it with --privileged only`,
  }));
  for (const name of missing.filter((one) => !isRefused(one))) {
    const parts = create ? split(name) : null;
    if (parts !== null) ids.push(await createPermission(tx, auditLog, name, parts.group));
    else
      errors.push({
        field: 'permissions',
        code: create ? 'invalid_permission' : 'unknown_permission',
        message: create
          ? `"${name}" is not <group>.<action> of at most ${MAX_PERMISSION_NAME_LENGTH} characters, without white space in the action, and with a group that is no UUID`
          : `there is no permission "${name}"`,
      });
  }
  return errors.length > 0 ? { errors } : { ids };
}

/** The action is what follows the last dot. A group with the form of an id would be read as one. */
function split(name: string): { group: string } | null {
  const clean = cleanText(name, { min: 1, max: MAX_PERMISSION_NAME_LENGTH });
  const match = /^(.*[^.])\.([^.\s]+)$/u.exec(name);
  return clean.ok &&
    clean.value === name &&
    match?.[1] !== undefined &&
    match[1].trim() === match[1] &&
    !UUID.test(match[1])
    ? { group: match[1] }
    : null;
}

async function createPermission(
  tx: Tx,
  auditLog: ChangeLog,
  name: string,
  groupName: string,
): Promise<string> {
  const [existing] = await lockByName(tx, 'permission_groups', [groupName]);
  const group = existing ?? { id: newId(), name: groupName };
  if (!existing) {
    await insertPermissionGroup(tx, group);
    await recordChange(tx, auditLog, null, {
      action: 'permission_group_created',
      actorId: null,
      resourceType: 'permission_group',
      resourceId: group.id,
      details: { after: { name: groupName }, via: 'command_line' },
      resourceName: groupName,
    });
  }
  const id = newId();
  // The name begins with that of the group, in its case.
  const stored = `${group.name}${name.slice(groupName.length)}`;
  await insertPermission(tx, { id, name: stored, group_id: group.id });
  await recordChange(tx, auditLog, null, {
    action: 'permission_created',
    actorId: null,
    resourceType: 'permission',
    resourceId: id,
    details: { after: { name: stored, group_id: group.id }, via: 'command_line' },
    resourceName: stored,
  });
  return id;
}

// Writes all roles with all their permissions as JSON, in parts: together they may have a hundred megabytes.
import type { AllRolesEnvelope, Role } from '@castellan/contract/roles';
import type Type from 'typebox';
import { type AllRoles, placesOf } from './store.ts';

// Writing as many characters takes less than a millisecond.
const PART_LENGTH = 256 * 1_024;

/** With `holders`, each role also has its number of holders and its version. */
export function* allRolesText(
  { roles, permissions }: AllRoles,
  holders: ReadonlyMap<string, number> | null,
): Generator<string, void> {
  const places = new Map(permissions.map(({ id }, place) => [id, place]));
  const { data: _data, ...rest }: Type.Static<typeof AllRolesEnvelope> = {
    data: [],
    message: 'All roles, sorted by name.',
  };
  let part = `${JSON.stringify(rest).slice(0, -1)},"data":[`;
  for (const [index, { permission_ids, version, ...record }] of roles.entries()) {
    const role: Omit<Role, 'permissions'> = holders
      ? { ...record, holders: holders.get(record.id) ?? 0, version }
      : record;
    part += `${index === 0 ? '' : ','}${JSON.stringify(role).slice(0, -1)},"permissions":[`;
    let separator = '';
    for (const place of placesOf(permission_ids, places)) {
      part += `${separator}${permissions[place]?.json}`;
      separator = ',';
      if (part.length < PART_LENGTH) continue;
      yield part;
      part = '';
    }
    part += ']}';
  }
  yield `${part}]}`;
}

// SQL that builds a permission record as JSON. Other stores embed it in their own rows.
import type { Permission } from '@castellan/contract/permission-records';
import { type RawBuilder, sql } from 'kysely';
import { isoTime } from '../../platform/db/sql.ts';
import type { Row } from '../../schema/database.ts';
import { needIn } from '../authz/graph/needs.ts';

const members = sql`
  'id', p.id, 'name', p.name, 'description', p.description, 'group_id', p.group_id,
  'group', json_build_object('id', pg.id, 'name', pg.name),
  'created_at', ${isoTime('p.created_at')}, 'updated_at', ${isoTime('p.updated_at')}, 'created_by_id', p.created_by_id`;

/** Requires `permissions p join permission_groups pg on pg.id = p.group_id` in the statement. */
export const permissionJson: RawBuilder<unknown> = sql`case
  when p.required_acr is null and p.max_auth_age is null then json_build_object(${members})
  else json_build_object(${members}, 'authentication', json_build_object(
    'required_acr', coalesce(p.required_acr, 'aal1'), 'max_auth_age', p.max_auth_age)) end`;

/** Returns the member `authentication` of a record, from the columns of the table; nothing if the permission asks for nothing. */
export const permissionAuthentication = ({
  required_acr,
  max_auth_age,
}: Pick<Row<'permissions'>, 'required_acr' | 'max_auth_age'>): Pick<Permission, 'authentication'> => {
  const need = needIn({ required_acr, max_auth_age });
  return need ? { authentication: { required_acr: need.acr, max_auth_age: need.maxAgeSeconds } } : {};
};

// SQL that builds a permission record as JSON. Other stores embed it in their own rows.
import { type RawBuilder, sql } from 'kysely';
import { isoTime } from '../../platform/db/sql.ts';

/** Requires `permissions p join permission_groups pg on pg.id = p.group_id` in the statement. */
export const permissionJson: RawBuilder<unknown> = sql`json_build_object(
  'id', p.id, 'name', p.name, 'description', p.description, 'group_id', p.group_id,
  'group', json_build_object('id', pg.id, 'name', pg.name),
  'created_at', ${isoTime('p.created_at')}, 'updated_at', ${isoTime('p.updated_at')}, 'created_by_id', p.created_by_id)`;

// SQL that reads the role → permission graph. It writes nothing.
import { sql } from 'kysely';
import type { Db } from '../../database.ts';

type GraphRows = {
  version: string;
  roles: { id: string; name: string; description: string; is_system: boolean; permissions: string[] }[];
  permissions: string[];
};

/** One statement, so one snapshot: the version and the graph belong together. */
export async function findGraphRows(db: Db): Promise<GraphRows> {
  const { rows } = await sql<GraphRows>`
    select (select version::text from authz_version) as version,
           coalesce((select json_agg(json_build_object(
             'id', r.id, 'name', r.name, 'description', r.description, 'is_system', r.is_system,
             'permissions', coalesce((
               select json_agg(p.name) from role_permissions rp join permissions p on p.id = rp.permission_id
               where rp.role_id = r.id), '[]'::json))) from roles r), '[]'::json) as roles,
           coalesce((select json_agg(name) from permissions), '[]'::json) as permissions`.execute(db);
  return rows[0] as GraphRows;
}

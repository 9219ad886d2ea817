// SQL that reads which providers people must sign in by.
import { sql } from 'kysely';
import type { Db, Row } from '../../schema/database.ts';

export type RequiringProvider = Pick<Row<'identity_providers'>, 'slug' | 'name' | 'domains'>;

/** Returns the active providers that are required for their domains, in the order of their buttons. */
export async function listRequiringProviders(db: Db): Promise<RequiringProvider[]> {
  const { rows } = await sql<RequiringProvider>`
    select slug, name, domains from identity_providers where is_active and required_for_domains
    order by position, slug`.execute(db);
  return rows;
}

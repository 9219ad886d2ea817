// SQL of applications that ask for a sign-out.
import { type RawBuilder, sql } from 'kysely';
import type { Db, Row } from '../../../schema/database.ts';

export type AskingApplication = Pick<
  Row<'applications'>,
  | 'id'
  | 'client_id'
  | 'name'
  | 'home_url'
  | 'policy_url'
  | 'terms_url'
  | 'first_party'
  | 'post_logout_redirect_uris'
>;

/** Returns an active application; undefined if there is none. */
export const findByClientId = (db: Db, clientId: string): Promise<AskingApplication | undefined> =>
  find(db, sql`client_id = ${clientId}`);

export const findById = (db: Db, id: string): Promise<AskingApplication | undefined> =>
  find(db, sql`id = ${id}`);

async function find(db: Db, which: RawBuilder<unknown>): Promise<AskingApplication | undefined> {
  const { rows } = await sql<AskingApplication>`
    select id, client_id, name, home_url, policy_url, terms_url, first_party, post_logout_redirect_uris
    from applications where ${which} and is_active`.execute(db);
  return rows[0];
}

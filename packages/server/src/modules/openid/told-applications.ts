// Tells applications that their access has ended: writes logout notices in the transaction that ends it. What ends sessions
// need not call it, because triggers do the same (migration 0060). It must not send anything: modules/openid/notices does.
import { sql } from 'kysely';
import type { Db } from '../../schema/database.ts';

/** Whose access ended: of one session or application of the user, or of all; or of everybody at an application. */
export type EndedAccess =
  | { userId: string; sessionId?: string; applicationId?: string }
  | { userId?: undefined; applicationId: string };

/**
 * Writes a notice for each application that took part in the sessions and has not been told: at most 50 at once, and what is
 * beyond follows within a second. One statement, which waits for no lock. `reason`: what ended the access.
 */
export async function tellApplications(db: Db, ended: EndedAccess, reason: string): Promise<void> {
  const sessionId = ended.userId === undefined ? undefined : ended.sessionId;
  await sql`
    select tell_applications(${ended.userId ?? null}, ${sessionId ?? null}, ${ended.applicationId ?? null}, ${reason})`.execute(
    db,
  );
}

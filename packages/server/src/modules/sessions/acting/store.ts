// SQL that starts a session in which somebody acts as another user. The transaction must hold the locks of both users and of the
// session of who acts. Whether such a session is live is decided where tokens are looked up (schema/live/session-actor.ts).
import { sql } from 'kysely';
import type { Row, Tx } from '../../../schema/database.ts';
import type { ContextColumns } from '../../../schema/token-context.ts';

/** How such a session began: no proof of the user. */
const PROOF = 'acting';

export type NewActingSession = Pick<
  Row<'sessions'>,
  'id' | 'user_id' | 'acted_by_id' | 'acted_by_session_id' | 'origin_address' | 'user_agent' | 'expires_at'
>;

export type NewActingToken = Pick<
  Row<'session_tokens'>,
  'token_hash' | 'jti' | 'key_id' | 'issued_at' | 'expires_at'
> &
  ContextColumns;

/**
 * Inserts the session with its only token, and ends the one in which the same session acts as the same user. Its network is not
 * noted: it is none that the user signs in from.
 */
export async function insertActingSession(
  tx: Tx,
  session: NewActingSession,
  { token_hash, jti, key_id, issued_at, expires_at, acr, amr, auth_time }: NewActingToken,
): Promise<void> {
  await sql`
    with replaced as (
      update sessions set revoked_at = clock_timestamp(), revoked_reason = 'acting_again'
      where user_id = ${session.user_id} and acted_by_session_id = ${session.acted_by_session_id} and revoked_at is null
      returning id
    ), noted as (
      insert into session_ends (user_id, session_id, reason) select ${session.user_id}, id, 'acting_again' from replaced
    ), begun as (
      insert into sessions (id, user_id, acted_by_id, acted_by_session_id, origin_address, last_address, user_agent, proof,
        created_at, last_used_at, expires_at)
      values (${session.id}, ${session.user_id}, ${session.acted_by_id}, ${session.acted_by_session_id},
        ${session.origin_address}, ${session.origin_address}, ${session.user_agent}, ${PROOF}, clock_timestamp(),
        clock_timestamp(), ${session.expires_at})
    )
    insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at, acr, amr, auth_time)
    values (${session.user_id}, ${token_hash}, ${session.id}, 'acting', ${jti}, ${key_id}, ${issued_at}, ${expires_at},
      ${acr}, ${amr}::text[], ${auth_time}::timestamptz)`.execute(tx);
}

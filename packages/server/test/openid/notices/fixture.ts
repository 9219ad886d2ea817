// What the suites of logout notices share: sessions that applications took part in, and the notices that were written.
import { randomUUID } from 'node:crypto';
import type { TestService } from '@castellan/testing/harness';

type Session = { person: { id: string }; sessionId: string };

/** Says that the application took part in the session, as a sign-in to it does. Returns the `sid`. */
export async function takePart(
  service: TestService,
  application: { id: string },
  { person, sessionId }: Session,
): Promise<string> {
  const sid = randomUUID();
  await service.sql(
    `insert into application_sessions (user_id, session_id, application_id, sid, expires_at)
     values ($1, $2, $3, $4, (select expires_at from sessions where id = $2))`,
    [person.id, sessionId, application.id, sid],
  );
  return sid;
}

/** Says that `count` made-up applications with a logout address took part in the session. */
export async function takePartMany(service: TestService, { person, sessionId }: Session, count: number) {
  await service.sql(
    `with made as (
       insert into applications (id, client_id, name, type, auth_method, grant_types, redirect_uris, post_logout_redirect_uris,
         allowed_origins, backchannel_logout_url, first_party, scopes, subject_type, id_token_signing_alg, id_token_claims,
         require_pkce, require_par, require_dpop, access_token_seconds, id_token_seconds, refresh_idle_days, grant_days)
       select gen_random_uuid(), 'made-' || gen_random_uuid(), 'Made ' || gen_random_uuid(), 'web', 'none', '{}', '{}', '{}', '{}',
         'http://127.0.0.1:9/', true, '{openid}', 'public', 'ES256', 'all', true, false, false, 300, 300, 7, 30
       from generate_series(1, $3::integer) returning id)
     insert into application_sessions (user_id, session_id, application_id, sid, expires_at)
     select $1, $2, id, gen_random_uuid(), now() + interval '1 day' from made`,
    [person.id, sessionId, count],
  );
}

type Notice = { sid: string; reason: string; state: string; user_id: string };

/** Returns the notices to an application, oldest first. */
export const noticesTo = (service: TestService, { id }: { id: string }): Promise<Notice[]> =>
  service.sql<Notice>(
    'select sid, reason, state, user_id from logout_notices where application_id = $1 order by id',
    [id],
  );

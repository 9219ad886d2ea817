// Creates the users of the session tests directly in the database, which is faster and allows any state.
// It must not replace registration, which has tests of its own.
import { randomUUID } from 'node:crypto';
import { createPasswordHasher } from '@castellan/server/platform/security/password-hasher';
import type { TestClient } from '../client.ts';
import { newEmail, PASSWORD, type TestService } from '../harness.ts';
import { hashOnce } from '../hashing.ts';

export type Account = { id: string; email: string; password: string };

/** For services in a separate process, whose hasher cannot be reached. */
const fullCost = createPasswordHasher();

/** Inserts a user with the password PASSWORD; verified and active unless `state` says otherwise. */
export async function addUser(
  service: Pick<TestService, 'sql'> & Partial<Pick<TestService, 'service'>>,
  state: { verified?: boolean; active?: boolean } = {},
): Promise<Account> {
  const account = { id: randomUUID(), email: newEmail(), password: PASSWORD };
  await service.sql(
    `insert into users (id, email, first_name, last_name, password_hash, verified, is_active)
     values ($1, $2, 'Ada', 'Lovelace', $3, $4, $5)`,
    [
      account.id,
      account.email,
      await hashOnce(service.service?.deps.hasher ?? fullCost, PASSWORD),
      state.verified ?? true,
      state.active ?? true,
    ],
  );
  return account;
}

/** Returns a client that already has its CSRF token, so that its requests can start at the same moment. */
export async function readyClient(service: TestService): Promise<TestClient> {
  const client = service.client();
  await client.post('/api/v1/auth/verify-email', {});
  return client;
}

/** Returns whether this instance accepts the access token. */
export async function isAccepted(service: TestService, accessToken: string): Promise<boolean> {
  const answer = await service.client().get('/api/v1/users/me', {
    headers: { authorization: `Bearer ${accessToken}` },
  });
  if (answer.status !== 200 && answer.status !== 401)
    throw new Error(`/users/me answered ${answer.status}: ${answer.text}`);
  return answer.status === 200;
}

/** Returns whether the refresh token still gets an access token; the token is not exchanged. */
export async function isRefreshable(service: TestService, refreshToken: string): Promise<boolean> {
  const answer = await service
    .client()
    .post('/api/v1/auth/new_access_token', { refresh_token: refreshToken });
  if (answer.status !== 200 && answer.status !== 401)
    throw new Error(`/auth/new_access_token answered ${answer.status}: ${answer.text}`);
  return answer.status === 200;
}

export async function liveSessionIds(service: TestService, userId: string): Promise<string[]> {
  const rows = await service.sql<{ id: string }>(
    `select s.id from sessions s join users u on u.id = s.user_id
     where s.user_id = $1 and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active) order by s.created_at`,
    [userId],
  );
  return rows.map((row) => row.id);
}

/** Returns how many tokens of this user, or of this session, are on the allowlist and belong to a live session. */
export async function countLiveTokens(service: Pick<TestService, 'sql'>, id: string): Promise<number> {
  const rows = await service.sql(
    `select from session_tokens t join sessions s on s.id = t.session_id join users u on u.id = s.user_id
     where (t.user_id = $1 or t.session_id = $1) and t.expires_at > now() and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)`,
    [id],
  );
  return rows.length;
}

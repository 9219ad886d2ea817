// Users of the session tests, written straight into the database: quicker than registering, in any state.
// It must not stand in for registration, which has tests of its own.
import { randomUUID } from 'node:crypto';
import { createPasswordHasher } from '../../src/platform/security/password-hasher.ts';
import type { TestClient } from '../client.ts';
import { newEmail, PASSWORD, type TestService } from '../harness.ts';

export type Account = { id: string; email: string; password: string };

// Hashed once a file: no test here depends on two users having different hashes.
let passwordHash: Promise<string> | undefined;

/** A user whose password is PASSWORD; verified and active unless said otherwise. */
export async function addUser(
  service: TestService,
  state: { verified?: boolean; active?: boolean } = {},
): Promise<Account> {
  passwordHash ??= createPasswordHasher().hash(PASSWORD);
  const account = { id: randomUUID(), email: newEmail(), password: PASSWORD };
  await service.sql(
    `insert into users (id, email, first_name, last_name, password_hash, verified, is_active)
     values ($1, $2, 'Ada', 'Lovelace', $3, $4, $5)`,
    [account.id, account.email, await passwordHash, state.verified ?? true, state.active ?? true],
  );
  return account;
}

/** A browser that has its CSRF token already, so that its requests can start at the same moment. */
export async function readyClient(service: TestService): Promise<TestClient> {
  const client = service.client();
  await client.post('/api/v1/auth/verify-email', {});
  return client;
}

/** Whether the access token opens anything, here or at another instance. */
export async function isAccepted(service: TestService, accessToken: string): Promise<boolean> {
  const answer = await service.client().get('/api/v1/users/me', {
    headers: { authorization: `Bearer ${accessToken}` },
  });
  if (answer.status !== 200 && answer.status !== 401)
    throw new Error(`/users/me answered ${answer.status}: ${answer.text}`);
  return answer.status === 200;
}

/** Whether the refresh token still gets an access token; it is not exchanged. */
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
    'select id from sessions where user_id = $1 and revoked_at is null and expires_at > now() order by created_at',
    [userId],
  );
  return rows.map((row) => row.id);
}

// Makes failed password attempts and reads what the service counted.
// It must not change a counter, except to let a lock expire.
import assert from 'node:assert/strict';
import type { Answer, TestClient } from '../client.ts';
import type { TestService } from '../harness.ts';

export const WRONG = 'Quite#Another82Plum';

export const logIn = (client: TestClient, email: string, password: string): Promise<Answer> =>
  client.post('/api/v1/auth/login', { email, password }, { headers: { authorization: null } });

/** Fails `times` sign-ins one after the other; each must be refused as wrong. */
export async function failLogins(client: TestClient, email: string, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const answer = await logIn(client, email, WRONG);
    assert.equal(answer.body.code, 'invalid_credentials', `attempt ${count + 1}: ${answer.text}`);
  }
}

export type Counter = { failures: number; running: number; locked_until: Date | null };

/** Returns what is counted for this email; zeros when nobody tried it. */
export async function counterOf(service: TestService, email: string): Promise<Counter> {
  const [row] = await service.sql<Counter>(
    `select failures, (select count(*)::int from jsonb_object_keys(slots)) as running, locked_until
     from login_attempts where email = $1`,
    [email],
  );
  return row ?? { failures: 0, running: 0, locked_until: null };
}

/** Makes the lock of this email expire one second ago. */
export const expireLock = (service: TestService, email: string): Promise<unknown> =>
  service.sql("update login_attempts set locked_until = now() - interval '1 second' where email = $1", [
    email,
  ]);

/** Counts the answers by error code; `ok` for a 200. */
export function codesOf(answers: Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) {
    const code = answer.status === 200 ? 'ok' : (answer.body?.code ?? `status ${answer.status}`);
    counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
}

// What the tests of recovery share: accounts whose factors were reset, and their links.
import assert from 'node:assert/strict';
import { mailsTo, waitForEmptyOutbox } from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import type { TestService } from '@castellan/testing/harness';
import { type AppUser, addAppUser } from '@castellan/testing/second-factors/app';
import { watch } from '@castellan/testing/secret-watch';

export const factorsOf = ({ id }: { id: string }, rest = ''): string => `/api/v1/users/${id}/factors${rest}`;

export const resetFactors = (by: TestClient, user: { id: string }, body: object = {}): Promise<Answer> =>
  by.post(factorsOf(user, '/reset'), body);

/** Returns the token of a recovery URL. */
const tokenIn = (url: string): string => new URL(url).hash.replace('#recovery=', '');

/** Returns a user whose factors were reset, with the token of the link that the administrator hands over. */
export async function addResetUser(
  service: TestService,
  by: TestClient,
): Promise<{ user: AppUser; token: string }> {
  const user = await addAppUser(service);
  const answer = await resetFactors(by, user, { deliver: 'show' });
  assert.equal(answer.status, 200, answer.text);
  const token = tokenIn(answer.body.data.recovery_url);
  watch.note(token, 'recovery link');
  return { user, token };
}

/** Returns the token of the newest recovery mail. */
export async function mailedToken(service: TestService, { email }: { email: string }): Promise<string> {
  await waitForEmptyOutbox(service);
  return mailsTo(service, email, 'second_factor_reset').at(-1)?.token ?? assert.fail('no recovery mail');
}

// What happens to second factors is mailed to their owner: set up, removed, used, attacked, suspended.
// What the mails say is tested in test/warnings.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { mailsTo, waitForEmptyOutbox } from '@castellan/testing/accounts/self-service';
import { startTestService } from '@castellan/testing/harness';
import {
  type AppUser,
  addAppUser,
  beginSignIn,
  codeOf,
  completeSignIn,
  enrol,
  forgetStep,
  wrongCodeOf,
} from '@castellan/testing/second-factors/app';

const service = await startTestService({ after });

async function kindsTo({ email }: AppUser): Promise<string[]> {
  await waitForEmptyOutbox(service);
  return service.mails().flatMap((mail) => (mail.to === email ? [mail.kind] : []));
}

async function failCodes(user: AppUser, times: number): Promise<void> {
  const client = service.client();
  const token = await beginSignIn(client, user);
  for (let count = 0; count < times; count += 1)
    await completeSignIn(client, token, { totp: wrongCodeOf(user.secret) });
}

test('setting up an app, replacing it and removing it are mailed', async () => {
  const user = await addAppUser(service);
  assert.deepEqual(await kindsTo(user), ['second_factor_added']);
  await enrol(user.client);
  assert.deepEqual(await kindsTo(user), ['second_factor_added', 'second_factor_added']);
  assert.equal((await user.client.delete('/api/v1/auth/factors/totp')).status, 200);
  assert.equal((await kindsTo(user)).at(-1), 'second_factor_removed');
});

test('a used recovery code is mailed with what is left, at a sign-in and at a step-up', async () => {
  const user = await addAppUser(service);
  const [first, second] = user.recoveryCodes;
  const client = service.client();
  await completeSignIn(client, await beginSignIn(client, user), { recovery_code: first });
  const stepped = await user.client.post('/api/v1/auth/step-up', { recovery_code: second });
  assert.equal(stepped.status, 200, stepped.text);
  await waitForEmptyOutbox(service);
  const texts = mailsTo(service, user.email, 'recovery_code_used').map(({ text }) => text);
  assert.match(texts[0] ?? '', /codes left: 9/);
  assert.match(texts[1] ?? '', /codes left: 8/);
});

test('a right password with five wrong codes is mailed, once an hour; four wrong codes are not', async () => {
  const user = await addAppUser(service);
  await failCodes(user, 4);
  await waitForEmptyOutbox(service);
  assert.deepEqual(mailsTo(service, user.email, 'second_factor_attack'), []);
  await service.sql('delete from factor_attempts where user_id = $1', [user.id]);
  await failCodes(user, 5);
  await service.sql('delete from factor_attempts where user_id = $1', [user.id]);
  await failCodes(user, 5);
  await waitForEmptyOutbox(service);
  assert.equal(mailsTo(service, user.email, 'second_factor_attack').length, 1);
});

test('five wrong codes over several sign-ins are mailed as well', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  for (let count = 0; count < 5; count += 1)
    await completeSignIn(client, await beginSignIn(client, user), { totp: wrongCodeOf(user.secret) });
  await waitForEmptyOutbox(service);
  assert.equal(mailsTo(service, user.email, 'second_factor_attack').length, 1);
});

test('the app that the hundredth wrong code suspends is mailed', async () => {
  const user = await addAppUser(service);
  await failCodes(user, 1);
  await service.sql('update factor_attempts set total = 99 where user_id = $1', [user.id]);
  await failCodes(user, 1);
  assert.deepEqual((await kindsTo(user)).slice(1), ['app_suspended']);
});

test('a sign-in whose code is right mails nothing', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  await forgetStep(service, user);
  await completeSignIn(client, await beginSignIn(client, user), { totp: codeOf(user.secret) });
  assert.deepEqual(await kindsTo(user), ['second_factor_added']);
});

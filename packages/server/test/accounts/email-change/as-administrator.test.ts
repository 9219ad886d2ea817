// Administrators who change their own address as an administrator: the proof that it takes, and the link to the former address.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  changeEmail,
  linkTo,
  mailsTo,
  paths,
  waitForEmptyOutbox,
} from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import { newEmail, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { enrol } from '@castellan/testing/second-factors/app';
import { addPerson, isSignedIn, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after }, { ACCOUNT_EMAIL_LIMIT: 'off' });
const visitor = service.client();

type Way = (client: TestClient, id: string, email: string) => Promise<Answer>;
const ways: Record<string, Way> = {
  'PUT /users/{user_id}': (client, id, email) => client.put(`/api/v1/users/${id}`, { email }),
  'PUT /users/bulk-update': (client, id, email) =>
    client.put('/api/v1/users/bulk-update', { user_ids: [id], updates: { email } }),
};

const undo = (token: string): Promise<Answer> => visitor.post(paths.undoEmail, { token });
const emailOf = async (id: string): Promise<string | undefined> =>
  (await service.sql<{ email: string }>('select email from users where id = $1', [id]))[0]?.email;

/** Makes the sign-in of all sessions an hour old. */
async function age(userId: string): Promise<void> {
  for (const [table, column] of [
    ['session_tokens', 'auth_time'],
    ['sessions', 'created_at'],
  ])
    await service.sql(`update ${table} set ${column} = now() - interval '1 hour' where user_id = $1`, [
      userId,
    ]);
}

for (const [way, changeOwn] of Object.entries(ways)) {
  test(`${way} takes a fresh proof for your own address, with a second factor or without`, async () => {
    for (const hasFactor of [false, true]) {
      const { client, person } = await signedInWith(service, 'users.update');
      if (hasFactor) await enrol(client);
      await age(person.id);
      assertRefused(await changeOwn(client, person.id, newEmail('own')), 403, 'step_up_required');
      assert.equal(await emailOf(person.id), person.email);
      const other = await addPerson(service);
      const answer = await changeOwn(client, other.id, newEmail('other'));
      assert.equal(answer.status, 200, 'the address of somebody else takes none');
    }
  });

  test(`${way} mails a link that undoes it to the former address`, async () => {
    const { client, person } = await signedInWith(service, 'users.update');
    const email = newEmail('own');
    const answer = await changeOwn(client, person.id, email);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(await isSignedIn(client), false);
    const token = await linkTo(service, person.email, 'email_changed');
    const [mail] = mailsTo(service, person.email, 'email_changed');
    assert.ok(mail?.text.includes(email));
    const undone = await undo(token);
    assert.equal(undone.status, 200, undone.text);
    assert.equal(await emailOf(person.id), person.email);
  });
}

test('the change of another address mails no such link, and a preview none at all', async () => {
  const { client, person } = await signedInWith(service, 'users.update');
  const other = await addPerson(service);
  assert.equal((await client.put(`/api/v1/users/${other.id}`, { email: newEmail('other') })).status, 200);
  const preview = await client.put(`/api/v1/users/${person.id}?dry_run=true`, { email: newEmail('own') });
  assert.equal(preview.status, 200, preview.text);
  await waitForEmptyOutbox(service);
  for (const { email } of [person, other]) assert.deepEqual(mailsTo(service, email, 'email_changed'), []);
  assert.deepEqual(
    await service.sql('select from email_changes where user_id = any($1::uuid[])', [[person.id, other.id]]),
    [],
  );
});

test('what a hijacker does to their account as an administrator does not end the link', async () => {
  const acts: ((client: TestClient, id: string) => Promise<Answer>)[] = [
    (client, id) => client.put(`/api/v1/users/${id}`, { email: newEmail('third') }),
    (client, id) => client.delete(`/api/v1/users/${id}/sessions`),
    (client, id) => client.put(`/api/v1/users/${id}`, { is_active: false }),
  ];
  for (const act of acts) {
    const { client, person } = await signedInWith(service, 'users.update', 'users.read');
    const token = await changeEmail(service, client, person.email, newEmail('theirs'));
    const answer = await act(client, person.id);
    assert.equal(answer.status, 200, answer.text);
    // An account that is not active is nobody's to use, and another administrator's to activate.
    await service.sql('update users set is_active = true where id = $1', [person.id]);
    const undone = await undo(token);
    assert.equal(undone.status, 200, undone.text);
    assert.equal(await emailOf(person.id), person.email);
  }
});

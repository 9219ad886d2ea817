// Signs somebody who is signed in in at a provider to connect it: to exactly their account, while their session lives.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { addPerson } from '@castellan/testing/users/people';
import {
  accountOf,
  addProvider,
  begin,
  comeBack,
  entriesOf,
  pageOf,
  signInThere,
  somebody,
} from './fixture.ts';

const service = await startTestService({ after });
const issuer = await startIssuer({ after });
const provider = await addProvider(service, issuer);

/** Begins to connect the provider to a new account that is signed in, and comes back as this person. */
async function connectAs(
  there: { sub: string },
  between: (ids: { userId: string; sessionId: string }) => Promise<unknown> = async () => {},
) {
  const person = await addPerson(service);
  const client = service.client();
  await client.login(person);
  const url = await begin(client, provider);
  const [row] = await service.sql<{ session_id: string }>(
    `update provider_sign_ins set purpose = 'connect', user_id = s.user_id, session_id = s.id
     from sessions s where s.user_id = $1 and used_at is null returning session_id`,
    [person.id],
  );
  assert.ok(row);
  issuer.person = there;
  const came = issuer.approve(url);
  await between({ userId: person.id, sessionId: row.session_id });
  return { person, client, answer: await comeBack(client, provider, came) };
}

const identitiesOf = (userId: string) =>
  service.sql('select subject from identities where user_id = $1', [userId]);

test('an identity is connected to the account of the session, whatever address the provider tells', async () => {
  const victim = await addPerson(service, { verified: false });
  const there = somebody({ email: victim.email });
  const { person, client, answer } = await connectAs(there);
  assert.deepEqual(pageOf(answer), { result: 'connected', next: '/account' });
  assert.deepEqual(await identitiesOf(person.id), [{ subject: there.sub }]);
  assert.deepEqual(await identitiesOf(victim.id), []);
  const [entry] = await entriesOf(service, answer);
  assert.deepEqual(
    [entry?.action, entry?.actor_id, entry?.details],
    ['identity_connected', person.id, { provider: provider.slug, subject: there.sub, email: victim.email }],
  );
  assert.equal((await service.mailTo(person.email)).kind, 'identity_connected');
  // The browser keeps the session that it had, and gets no other.
  assert.equal(
    answer.headers.getSetCookie().some((cookie) => cookie.startsWith('refresh_token=')),
    false,
  );
  assert.equal((await accountOf(client))?.id, person.id);
  // From now on it signs in.
  const later = service.client();
  await signInThere(later, provider, there);
  assert.equal((await accountOf(later))?.id, person.id);
});

test('an identity of another account, and a session or an account that has ended by then, connect nothing', async () => {
  const there = somebody();
  await signInThere(service.client(), provider, there);
  const ends = [
    [async () => {}, there, 'taken'],
    [
      ({ sessionId }) => service.sql('update sessions set revoked_at = now() where id = $1', [sessionId]),
      somebody(),
      'session',
    ],
    [
      ({ userId }) => service.sql('update users set is_active = false where id = $1', [userId]),
      somebody(),
      'session',
    ],
    [
      ({ userId }) =>
        service.sql('update users set session_epoch = session_epoch + 1 where id = $1', [userId]),
      somebody(),
      'session',
    ],
  ] satisfies [NonNullable<Parameters<typeof connectAs>[1]>, { sub: string }, string][];
  for (const [between, person, kind] of ends) {
    const { person: own, answer } = await connectAs(person, between);
    const { result, kind: told, next } = pageOf(answer);
    assert.deepEqual([result, told, next], ['failed', kind, '/account']);
    assert.deepEqual(await identitiesOf(own.id), []);
  }
});

test('connecting what is connected already changes nothing', async () => {
  const there = somebody();
  const { person } = await connectAs(there);
  const client = service.client();
  await client.login(person);
  const url = await begin(client, provider);
  await service.sql(
    `update provider_sign_ins set purpose = 'connect', user_id = s.user_id, session_id = s.id
     from sessions s where s.user_id = $1 and used_at is null`,
    [person.id],
  );
  issuer.person = there;
  assert.equal(pageOf(await comeBack(client, provider, issuer.approve(url))).result, 'connected');
  assert.equal((await identitiesOf(person.id)).length, 1);
});

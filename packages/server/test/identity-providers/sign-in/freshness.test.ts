// How fresh a proof is that a provider gives: from when the person signed in there, if the provider tells.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { startTestService } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { addPerson } from '@castellan/testing/users/people';
import { addFactor, addProvider, begin, comeBack, pageOf, signInThere, somebody } from './fixture.ts';

const service = await startTestService({ after });
const issuer = await startIssuer({ after });
const provider = await addProvider(service, issuer);

const secondsAgo = (seconds: number): number => Math.floor(Date.now() / 1_000) - seconds;

/** Returns how old the proof of the browser is, in minutes, and what an operation that needs a fresh one answers. */
async function proofOf(client: TestClient): Promise<[minutes: number, status: number]> {
  const token = (await client.post('/api/v1/auth/new_access_token', {})).body.data.access_token;
  const headers = { authorization: `Bearer ${token}` };
  const { context } = (await client.get('/api/v1/auth/factors', { headers })).body.data;
  const asked = await client.post('/api/v1/users/me/identities', { provider: provider.slug }, { headers });
  return [Math.round((Date.now() - Date.parse(context.auth_time)) / 60_000), asked.status];
}

test('the age of a sign-in at the provider counts, by the clock of the provider', async (t) => {
  t.after(() => {
    issuer.misbehaviour = {};
  });
  const there = somebody();
  for (const [said, expected] of [
    [{ idToken: {} }, [0, 200]],
    [{ idToken: { auth_time: secondsAgo(8 * 60) } }, [8, 200]],
    [{ idToken: { auth_time: secondsAgo(3 * 3_600) } }, [180, 403]],
    // Its clock is four minutes fast, or slow.
    [{ clock: 240, idToken: { auth_time: secondsAgo(8 * 60) + 240 } }, [8, 200]],
    [{ clock: -240, idToken: { auth_time: secondsAgo(12 * 60) - 240 } }, [12, 403]],
    [{ idToken: { auth_time: secondsAgo(-3_600) } }, [0, 200]],
    [{ idToken: { auth_time: 0 } }, [Math.round(Date.now() / 60_000), 403]],
  ] as const) {
    issuer.misbehaviour = said;
    const client = service.client();
    assert.equal(pageOf(await signInThere(client, provider, there)).result, 'signed_in');
    const [minutes, status] = await proofOf(client);
    assert.ok(Math.abs(minutes - expected[0]) <= 1, `${minutes} minutes after ${JSON.stringify(said)}`);
    assert.equal(status, expected[1], JSON.stringify(said));
  }
});

test('the age of a sign-in is measured by one clock, and counted by that of the database', async (t) => {
  t.after(() => {
    issuer.misbehaviour = {};
  });
  const { clock } = service.service.deps;
  const { now } = clock;
  const ageOf = async (id: string): Promise<number> => {
    const rows = await service.sql<{ age: number }>(
      `select extract(epoch from clock_timestamp() - coalesce(t.auth_time, s.created_at))::float8 as age
       from sessions s join session_tokens t on t.session_id = s.id where s.user_id = $1 and t.kind = 'access'`,
      [id],
    );
    return rows[0]?.age ?? Number.NaN;
  };
  for (const skew of [-50, 50])
    for (const age of [0, 600]) {
      issuer.misbehaviour = age === 0 ? {} : { idToken: { auth_time: secondsAgo(age) } };
      const clockOf = t.mock.method(clock, 'now', () => now() + skew * 1_000);
      const there = somebody();
      assert.equal(pageOf(await signInThere(service.client(), provider, there)).result, 'signed_in');
      clockOf.mock.restore();
      const [{ id = '' } = {}] = await service.sql<{ id: string }>('select id from users where email = $1', [
        there.email,
      ]);
      const counted = await ageOf(id);
      assert.ok(Math.abs(counted - age) < 10, `${counted} s, not ${age}, with a clock off by ${skew} s`);
    }
});

test('the second step proves the person anew, and the trust of a device does not', async (t) => {
  t.after(() => {
    issuer.misbehaviour = {};
  });
  const person = await addPerson(service);
  const code = await addFactor(service, person);
  const there = somebody({ email: person.email });
  await service.sql(
    'insert into identities (id, user_id, provider_id, issuer, subject) values (gen_random_uuid(), $1, $2, $3, $4)',
    [person.id, provider.id, issuer.issuer, there.sub],
  );
  issuer.misbehaviour = { idToken: { auth_time: secondsAgo(3 * 3_600) } };
  const client = service.client();
  assert.equal(pageOf(await signInThere(client, provider, there)).result, 'pending');
  const { token } = (await client.get('/api/v1/auth/pending-identity')).body.data.second_factor;
  const proof = { token, totp: code(), trust_device: true };
  assert.equal((await client.post('/api/v1/auth/login/second-factor', proof)).status, 200);
  assert.deepEqual(await proofOf(client), [0, 200]);
  client.cookies.delete('refresh_token');
  assert.equal(pageOf(await signInThere(client, provider, there)).result, 'signed_in');
  assert.deepEqual(await proofOf(client), [180, 403]);
});

test('where somebody is signed in, the provider is to ask them again', async () => {
  const client = service.client();
  const promptAt = async () => new URL(await begin(client, provider)).searchParams.get('prompt');
  assert.equal(await promptAt(), null);
  await signInThere(client, provider, somebody());
  const url = await begin(client, provider);
  assert.equal(new URL(url).searchParams.get('prompt'), 'login');
  assert.equal(pageOf(await comeBack(client, provider, issuer.approve(url))).result, 'signed_in');
  client.cookies.set('refresh_token', 'not-ours');
  assert.equal(await promptAt(), null);
});

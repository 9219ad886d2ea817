// 50 requests for tokens and as many for codes beside what ends them, on two instances: once the end is answered, nothing lives that
// any of them brought, bound to a key or not.
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import type { TestService } from '@castellan/testing/harness';
import { newProofKey, secondsNow, signedJwt } from '@castellan/testing/openid/proofs';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { basicOf, postForm } from '@castellan/testing/service-accounts/token-services';
import { path, startWithAdmin } from '../../applications/fixture.ts';
import { ask, ledTo, verifier } from '../authorize/fixture.ts';
import {
  addApplication,
  addGrant,
  addSignedIn,
  exchange,
  post,
  type SignedIn,
  type TestApplication,
  type TestGrant,
  type Tokens,
  tokensOf,
  userinfo,
} from '../fixture.ts';

const { service, admin } = await startWithAdmin(
  { after },
  { RATE_LIMIT_AUTHORIZE: 'off', RATE_LIMIT_APPLICATION: 'off' },
);
const twin = await service.another();
type Pair = readonly [TestService, TestService];
const both: Pair = [service, twin];
const at = (index: number, pair: Pair = both): TestService => (index % 2 ? pair[0] : pair[1]);
await addApplication(admin, [service, twin]);
const inspector = await addServiceAccount(service, { permissions: ['token.introspect'] });
const key = newProofKey('ES256');
const { publicUrl } = service.service.deps.settings;

/** Returns the headers with a new proof of the key. */
const proof = (htm: string, path: string, changed: object = {}): { dpop: string } => ({
  dpop: signedJwt(
    key,
    { typ: 'dpop+jwt', alg: key.alg, jwk: key.jwk },
    { jti: randomUUID(), htm, htu: `${publicUrl}/api/v1/oauth/${path}`, iat: secondsNow(), ...changed },
  ),
});
/** Every other request for tokens has a proof. */
const proofAt = (index: number): Record<string, string> => (index % 4 < 2 ? proof('POST', 'token') : {});

async function isLive(token: string): Promise<boolean> {
  const ath = createHash('sha256').update(token).digest('base64url');
  const bound = { authorization: `DPoP ${token}`, ...proof('GET', 'userinfo', { ath }) };
  const answers = await Promise.all([
    userinfo(service, token),
    userinfo(twin, token, bound),
    postForm(twin, 'introspect', { token }, basicOf(inspector.id, inspector.key)),
  ]);
  return answers.some(({ status, body }, index) => status === 200 && (index < 2 || body.active));
}
const refreshWith = (where: TestService, application: TestApplication, { refresh_token }: Tokens) =>
  post(where, 'token', application, { grant_type: 'refresh_token', refresh_token }, proof('POST', 'token'));

type About = { who: SignedIn; application: TestApplication };
type End = {
  end(about: About): Promise<Answer>;
  /** A request that comes after it may bring a code. */
  authorizesLater?: true;
  /** The secret is refused afterwards, so often that the instances listen to no other application of this network. */
  spoils?: true;
};
const ends: Readonly<Record<string, End>> = {
  'the deactivation of the application': {
    end: ({ application: { id } }) => admin.put(`${path}/${id}`, { is_active: false }),
    spoils: true,
  },
  'the deletion of the application': {
    end: ({ application: { id } }) => admin.delete(`${path}/${id}`),
    spoils: true,
  },
  'the end of every grant of the application': {
    end: ({ application: { id } }) => admin.delete(`${path}/${id}/grants`),
    authorizesLater: true,
  },
  'the end of the person’s access': {
    end: ({ who, application }) =>
      admin.delete(`/api/v1/users/${who.person.id}/applications/${application.id}`),
    authorizesLater: true,
  },
  'the withdrawal of consent': {
    end: ({ who, application }) => who.client.delete(`/api/v1/users/me/applications/${application.id}`),
  },
  'the deactivation of the account': {
    end: ({ who }) => admin.put(`/api/v1/users/${who.person.id}`, { is_active: false }),
  },
  'the deletion of the account': { end: ({ who }) => admin.delete(`/api/v1/users/${who.person.id}`) },
  'the end of all sessions': { end: ({ who }) => admin.delete(`/api/v1/users/${who.person.id}/sessions`) },
  'sign-out': { end: ({ who }) => who.client.post('/api/v1/auth/logout') },
};

const COUNT = 25;
const times = <T>(make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: COUNT }, (_, index) => make(index)));

for (const [what, { end, authorizesLater, spoils }] of Object.entries(ends))
  test(`${what} ends what 50 parallel requests for tokens and for codes bring`, async () => {
    const pair: Pair = spoils ? [await service.another(), await service.another()] : both;
    const application = await addApplication(admin, pair, { first_party: false });
    const who = await addSignedIn(service);
    await service.sql(
      `insert into consents (user_id, application_id, scopes) values ($1, $2, '{openid,email}')`,
      [who.person.id, application.id],
    );
    const codes: TestGrant[] = await times(() => addGrant(service, application, who));
    const held: Tokens[] = await times(() => tokensOf(pair[0], application, who));
    const forTokens = [
      ...codes.map((grant, index) => exchange(at(index, pair), application, grant, {}, proofAt(index))),
      ...held.map((tokens, index) => refreshWith(at(index, pair), application, tokens)),
    ];
    const forCodes = times((index) =>
      ask(who.client.at(at(index, pair).url), application, { prompt: 'none' }),
    );
    await Promise.race(forTokens);
    const answer = await end({ who, application });
    assert.equal(answer.status, 200, answer.text);
    const issued: Tokens[] = [];
    for (const { status, body, text } of await Promise.all(forTokens)) {
      assert.ok([200, 400, 401, 429, 503].includes(status), text);
      if (status === 200) issued.push(body);
    }
    assert.ok(issued.length > 0);
    const all = [...held, ...issued];
    const live = await Promise.all(all.map(({ access_token }) => isLive(access_token)));
    assert.deepEqual(
      live.filter((one) => one),
      [],
    );
    for (const [index, tokens] of all.entries())
      assert.notEqual((await refreshWith(at(index, pair), application, tokens)).status, 200);
    for (const [index, asked] of (await forCodes).entries()) {
      assert.ok([303, 400, 503].includes(asked.status), asked.text);
      const { code } = ledTo(asked).fields;
      if (code === undefined || authorizesLater) continue;
      assert.notEqual((await exchange(at(index, pair), application, { code, verifier })).status, 200);
    }
  });

test('50 parallel refreshes of one grant, with and without a key, end with it', async () => {
  const application = await addApplication(admin, [service, twin]);
  for (let round = 0; round < 3; round += 1) {
    const who = await addSignedIn(service);
    const tokens = await tokensOf(service, application, who);
    const running = Array.from({ length: 50 }, (_, index) =>
      post(
        at(index),
        'token',
        application,
        { grant_type: 'refresh_token', refresh_token: tokens.refresh_token },
        proofAt(index),
      ),
    );
    await Promise.race(running);
    const ended = await admin.delete(`${path}/${application.id}/grants/${tokens.grant.id}`);
    assert.equal(ended.status, 200, ended.text);
    const answers = await Promise.all(running);
    assert.ok(answers.some(({ status }) => status === 200));
    for (const { status, body, text } of answers) {
      assert.ok(status === 200 || status === 400, text);
      if (status === 200) assert.equal(await isLive(body.access_token), false);
    }
    const next = answers.find(({ status }) => status === 200)?.body;
    assert.equal((await refreshWith(service, application, next)).body.error, 'invalid_grant');
  }
});

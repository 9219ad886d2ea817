// Real tokens that must not work: of ended sessions and deactivated accounts, of another deployment or a retired key,
// and exchanged ones. It must not forge signatures: one of our keys signed each token here.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after } from 'node:test';
import { rotateSigningKey } from '@castellan/server/modules/sessions/keys/rotation';
import type { TestClient } from '@castellan/testing/client';
import { signIn, startTestService, TEST_SECRET_KEY, type TestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf, type Tally } from '@castellan/testing/scenario';
import {
  type Account,
  addUser,
  isAccepted,
  isRefreshable,
  liveSessionIds,
} from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { hashOf, openSigner, readToken } from '@castellan/testing/sessions/own-tokens';
import { openPair } from '../fixture.ts';
import { assertUniformRefusal, entryPoints, openBrowser } from './entry-points.ts';

const scenario = scenariosOf('tokens');
const { service, twin, admin } = await openPair({ after });
const browser = await openBrowser(service);

/** The refusal of an access token is `code`; a refresh token has only one. */
type Expected = { code: string; what: string };

/** Checks that every entry point of these instances refuses the tokens. */
async function assertDead(
  tally: Tally,
  tokens: { access?: string; refresh?: string },
  { code, what }: Expected,
  instances: readonly TestService[] = [service, twin],
): Promise<void> {
  for (const { url } of instances)
    for (const entryPoint of entryPoints) {
      const token = tokens[entryPoint.kind];
      if (token === undefined) continue;
      const answer = await entryPoint.present(url, browser, token);
      assertUniformRefusal(
        answer,
        entryPoint.kind === 'access' ? code : 'refresh_token_invalid',
        `${what}, at ${entryPoint.name}`,
      );
      tally.tried();
      tally.held();
    }
}

const tokensOf = ({ accessToken, refreshToken }: TestClient) => ({
  access: accessToken as string,
  refresh: refreshToken as string,
});

type Ending = (client: TestClient, user: Account) => Promise<{ status: number; text: string }>;
const sidOf = (client: TestClient): string => readToken(client.accessToken as string).claims.sid;
const endings: [string, Ending][] = [
  ['logging out', (client) => client.post('/api/v1/auth/logout')],
  ['logging out everywhere', (client) => client.post('/api/v1/auth/logout/all')],
  ['ending the session', (client) => client.delete(`/api/v1/auth/sessions/${sidOf(client)}`)],
  [
    'an administrator ending it',
    (client, { id }) => admin.delete(`/api/v1/users/${id}/sessions/${sidOf(client)}`),
  ],
  ['an administrator ending all', (_, { id }) => admin.delete(`/api/v1/users/${id}/sessions`)],
  ['deactivation', (_, { id }) => admin.put(`/api/v1/users/${id}`, { is_active: false })],
  ['deletion', (_, { id }) => admin.delete(`/api/v1/users/${id}`)],
  [
    'an administrator setting a password',
    (_, { id }) => admin.put(`/api/v1/users/${id}`, { password: 'ReplacementPassword!42' }),
  ],
  [
    'a new password',
    (client, { password }) =>
      client.post('/api/v1/auth/change_password', {
        current_password: password,
        new_password: 'ReplacementPassword!42',
      }),
  ],
];

scenario('every token of an ended session is refused at every instance, however it ended', async (tally) => {
  for (const [what, end] of endings) {
    const user = await addUser(service);
    const [bystander, client] = [await signIn(service, await addUser(service)), await signIn(service, user)];
    const derived = await client.post('/api/v1/auth/new_access_token');
    const refreshed = await client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken });
    const tokens = tokensOf(client);
    const ended = await end(client, user);
    assert.equal(ended.status, 200, `${what}: ${ended.text}`);
    await assertDead(tally, tokens, { code: 'token_revoked', what });
    await assertDead(tally, { access: derived.body.data.access_token }, { code: 'token_revoked', what });
    const { access_token: access, refresh_token: refresh } = refreshed.body.data;
    await assertDead(tally, { access, refresh }, { code: 'token_revoked', what });
    assert.ok(await isAccepted(twin, bystander.accessToken as string), what);
    assert.ok(await isRefreshable(twin, bystander.refreshToken as string), what);
    tally.held(2);
  }
  tally.held(await assertSound(service));
});

scenario('an access token is refused as a refresh token, and the reverse', async (tally) => {
  const client = await signIn(service, await addUser(service));
  const { access, refresh } = tokensOf(client);
  await assertDead(tally, { access: refresh, refresh: access }, { code: 'token_invalid', what: 'swapped' });
  const { data } = (await client.post('/api/v1/auth/refresh', { refresh_token: refresh })).body;
  await assertDead(
    tally,
    { access: data.refresh_token, refresh: data.access_token },
    { code: 'token_invalid', what: 'swapped' },
  );
  assert.ok(await isAccepted(twin, access));
  assert.ok(await isRefreshable(twin, data.refresh_token));
  tally.held(2 + (await assertSound(service)));
});

scenario(
  'an access token that our key signed and that was never issued is refused and ends no session',
  async (tally) => {
    const user = await addUser(service);
    const client = await signIn(service, user);
    const { access, refresh } = tokensOf(client);
    const sign = await openSigner(service);
    const twinOf = (token: string): string => sign({ ...readToken(token).claims, jti: randomUUID() });
    for (let round = 0; round < rounds(8, 200); round += 1)
      await assertDead(tally, { access: twinOf(access) }, { code: 'token_revoked', what: 'unlisted' }, [
        round % 2 ? service : twin,
      ]);
    // The issued token is removed from the allowlist, and so becomes one of them.
    await service.sql('delete from session_tokens where token_hash = any($1)', [[hashOf(access)]]);
    await assertDead(tally, { access }, { code: 'token_revoked', what: 'taken off' });
    assert.ok(await isRefreshable(twin, refresh));
    assert.equal((await liveSessionIds(service, user.id)).length, 1);
    assert.deepEqual(await eventsOf(service, 'refresh_token_reuse', user), []);
    tally.held(2);
  },
);

scenario('tokens of another deployment are refused, although the key is the same', async (tally, t) => {
  for (const [environment, code] of [
    [{}, 'token_revoked'],
    [{ PUBLIC_URL: 'http://elsewhere.test' }, 'token_invalid'],
    [{ PUBLIC_URL: 'http://castellan.test/sub' }, 'token_invalid'],
    [{ PUBLIC_URL: 'https://castellan.test' }, 'token_invalid'],
  ] as const) {
    const other = await startTestService(t, environment);
    const [here, there] = [
      await signIn(service, await addUser(service)),
      await signIn(other, await addUser(other)),
    ];
    await assertDead(tally, tokensOf(there), { code, what: `of ${JSON.stringify(environment)}` });
    assert.ok(await isAccepted(service, here.accessToken as string));
    assert.ok(await isAccepted(other, there.accessToken as string));
    tally.held(2);
  }
});

scenario(
  'a token of a retired key is invalid after the next start, although its kid names the key',
  async (tally, t) => {
    const own = await startTestService(t);
    const client = await signIn(own, await addUser(own));
    const sign = await openSigner(own);
    const { claims } = readToken(client.accessToken as string);
    const unlisted = { access: sign({ ...claims, jti: randomUUID() }) };
    const [old] = await own.sql<{ key_id: string }>('select key_id from signing_keys');
    const { db, auditLog } = own.service.deps;
    await rotateSigningKey({ db, auditLog, secretKey: Buffer.from(TEST_SECRET_KEY) }, { atOnce: true });
    const rotated = await own.another();
    await assertDead(tally, unlisted, { code: 'token_revoked', what: 'while the key is known' }, [rotated]);
    await own.sql('delete from signing_keys where key_id = $1', [old?.key_id]);
    const retired = await own.another();
    await assertDead(tally, unlisted, { code: 'token_invalid', what: 'when the key is retired' }, [retired]);
    const published = await retired.client().get('/.well-known/jwks.json');
    assert.equal(
      published.body.keys.some((key: { kid: string }) => key.kid === old?.key_id),
      false,
    );
    assert.ok(await isAccepted(retired, (await signIn(retired, await addUser(own))).accessToken as string));
    tally.held(2);
  },
);

scenario(
  'an exchanged token ends the session for thief and owner, whichever token of the chain it is',
  async (tally) => {
    const links = rounds(3, 8);
    for (let stolen = 0; stolen < links; stolen += 1) {
      const user = await addUser(service);
      const [client, elsewhere] = [await signIn(service, user), await signIn(service, user)];
      const chain = [client.refreshToken as string];
      const accessTokens = [client.accessToken as string];
      for (let link = 0; link < links; link += 1) {
        const { data } = (await client.post('/api/v1/auth/refresh', { refresh_token: chain.at(-1) })).body;
        chain.push(data.refresh_token);
        accessTokens.push(data.access_token);
      }
      await service.sql(
        "update session_tokens set rotated_at = rotated_at - interval '31 seconds' where user_id = $1 and rotated_at is not null",
        [user.id],
      );
      // The first reuse ends the session; afterwards the whole chain is refused, including its newest token.
      await assertDead(tally, { refresh: chain[stolen] as string }, { code: '', what: 'the stolen link' });
      for (const refresh of chain)
        await assertDead(tally, { refresh }, { code: '', what: 'another link' }, [twin]);
      for (const access of accessTokens)
        await assertDead(tally, { access }, { code: 'token_revoked', what: 'of the chain' }, [twin]);
      assert.equal((await eventsOf(service, 'refresh_token_reuse', user)).length, 1);
      assert.ok(await isRefreshable(twin, elsewhere.refreshToken as string), 'another session of the owner');
      tally.held(2);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'a retried refresh never answers a token that the allowlist lacks, also where PUBLIC_URL differs',
  async (tally) => {
    const moved = await service.another({ PUBLIC_URL: 'http://elsewhere.test' });
    for (let round = 0; round < rounds(2, 16); round += 1) {
      const client = await signIn(service, await addUser(service));
      const presented = { refresh_token: client.refreshToken };
      const first = await client.post('/api/v1/auth/refresh', presented);
      const elsewhere = await client.at(moved.url).post('/api/v1/auth/refresh', presented);
      assertUniformRefusal(elsewhere, 'refresh_token_invalid', 'where it cannot be written again');
      const again = await client.post('/api/v1/auth/refresh', presented);
      assert.equal(again.body.data.refresh_token, first.body.data.refresh_token);
      assert.ok(await isRefreshable(twin, first.body.data.refresh_token));
      tally.tried(2);
      tally.held(3);
    }
  },
);

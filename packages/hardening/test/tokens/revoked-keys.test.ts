// Revokes a leaked signing key: all tokens that it signed end at once, on every instance and at the same cost for any
// number of them, and no others. It must not wait for a rotation: it changes `signs_from` in SQL.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import {
  endSessionsOfRevokedKeys,
  revokeSigningKey,
} from '@castellan/server/modules/sessions/keys/revocation';
import { KEY_RELOAD_SECONDS, KEY_SPREAD_SECONDS } from '@castellan/server/modules/sessions/keys/ring';
import { rotateSigningKey } from '@castellan/server/modules/sessions/keys/rotation';
import type { TestClient } from '@castellan/testing/client';
import { eventually, signIn, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { scenariosOf } from '@castellan/testing/scenario';
import { addUser, isAccepted, isRefreshable, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { openSigner, readToken } from '@castellan/testing/sessions/own-tokens';
import { statementsOf } from '@castellan/testing/statements';
import { openPair } from '../fixture.ts';

const scenario = scenariosOf('tokens');
const { service, twin } = await openPair({ after });
const both = [service, twin];
const { db, auditLog } = service.service.deps;
const keyDeps = { db, auditLog, secretKey: Buffer.from(TEST_SECRET_KEY) };

const kidOf = (token: string | null): string => readToken(token as string).header.kid as string;
const refresh = (client: TestClient, token: string) =>
  client.post('/api/v1/auth/refresh', { refresh_token: token });
const published = async (where: typeof service): Promise<string[]> =>
  (await where.client().get('/.well-known/jwks.json')).body.keys.map(({ kid }: { kid: string }) => kid);
const isKnown = (where: typeof service, kid: string) =>
  eventually(async () => ((await published(where)).includes(kid) ? true : undefined), `key ${kid}`);
const isForgotten = (where: typeof service, kid: string) =>
  eventually(async () => ((await published(where)).includes(kid) ? undefined : true), `the end of ${kid}`);
/** Returns the number of live sessions of all users. */
const countLive = async (): Promise<number> =>
  (await service.sql('select from sessions where revoked_at is null and expires_at > now()')).length;
/** Makes the key sign now. */
async function beginSigning(kid: string): Promise<void> {
  await service.sql('update signing_keys set signs_from = clock_timestamp() where key_id = $1', [kid]);
  for (const one of both) await one.service.deps.keyRing.load();
}

scenario(
  'the revocation of a key ends every token that it signed, at the next request on every instance, and no other session',
  async (tally) => {
    const [user, other] = [await addUser(service), await addUser(service)];
    const clients = [await signIn(service, user), await signIn(twin, user), await signIn(service, other)];
    const sign = await openSigner(service);
    const leaked = kidOf((clients[0] as TestClient).accessToken);
    // This session exchanges its refresh token under the next key; its old access token is signed by the leaked one.
    const survivor = await signIn(service, other);
    const oldAccess = survivor.accessToken as string;
    const { keyId } = await rotateSigningKey(keyDeps, { atOnce: true });
    for (const one of both) await isKnown(one, keyId);
    await beginSigning(keyId);
    const renewed = (await refresh(survivor, survivor.refreshToken as string)).body.data;
    assert.equal(kidOf(renewed.refresh_token), keyId);

    const outcome = await revokeSigningKey(keyDeps, leaked);
    assert.deepEqual(outcome, { outcome: 'revoked', successorId: null });
    for (const client of clients)
      for (const where of both) {
        assert.equal(await isAccepted(where, client.accessToken as string), false);
        assert.equal(await isRefreshable(where, client.refreshToken as string), false);
        assert.equal((await refresh(client.at(where.url), client.refreshToken as string)).status, 401);
        tally.tried(3);
        tally.held(3);
      }
    for (const where of both) {
      assert.equal(await isAccepted(where, oldAccess), false);
      assert.ok(await isAccepted(where, renewed.access_token));
      assert.ok(await isRefreshable(where, renewed.refresh_token));
      await isForgotten(where, leaked);
      tally.tried(4);
      tally.held(4);
    }
    // Made with the private key: a token that was never issued, for a live session. It must not end that session.
    const { claims } = readToken(renewed.refresh_token);
    const forged = sign({ ...claims, jti: crypto.randomUUID() });
    for (const where of both) assert.equal((await refresh(survivor.at(where.url), forged)).status, 401);
    assert.ok(await isRefreshable(twin, renewed.refresh_token));
    tally.tried(2);
    tally.held(3);

    await service.sql("update revoked_signing_keys set revoked_at = revoked_at - interval '1 minute'");
    // All sessions except the survivor's, including the administrator's.
    const live = await countLive();
    assert.ok(live > 3);
    assert.deepEqual(await endSessionsOfRevokedKeys(db), { ended: live - 1, done: true });
    assert.deepEqual(await liveSessionIds(service, user.id), []);
    assert.deepEqual(await liveSessionIds(service, other.id), [readToken(renewed.access_token).claims.sid]);
    assert.deepEqual(await endSessionsOfRevokedKeys(db), { ended: 0, done: true });
    tally.held(4);
  },
);

scenario(
  'the revocation of the current signing key replaces it in the same write, and sign-ins continue',
  async (tally) => {
    const [signing] = (await service.sql<{ key_id: string }>(
      'select key_id from signing_keys where signs_from <= now() order by signs_from desc limit 1',
    )) as [{ key_id: string }];
    const revocations = await Promise.all([
      revokeSigningKey(keyDeps, signing.key_id),
      revokeSigningKey(keyDeps, signing.key_id),
    ]);
    assert.deepEqual(revocations.map(({ outcome }) => outcome).sort(), ['revoked', 'revoked_before']);
    const successor = revocations.find((one) => one.outcome === 'revoked')?.successorId as string;
    for (const where of both) {
      await isKnown(where, successor);
      await isForgotten(where, signing.key_id);
      const client = await signIn(where, await addUser(service));
      assert.equal(kidOf(client.accessToken), successor);
      for (const one of both) assert.ok(await isAccepted(one, client.accessToken as string));
      tally.held(5);
    }
    const unknown = await revokeSigningKey(keyDeps, 'no-such-key');
    assert.equal(unknown.outcome, 'unknown');
    tally.tried(3);
    tally.held(3);
  },
);

scenario('a revocation costs the same for one session and for thousands', async (tally) => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  const kid = kidOf(client.accessToken);
  await service.sql(
    `with made as (
       insert into sessions (id, user_id, expires_at)
       select gen_random_uuid(), $1, now() + interval '1 day' from generate_series(1, 3000) returning id)
     insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at)
     select $1, sha256(id::text::bytea), id, 'refresh', gen_random_uuid(), $2, now(), now() + interval '1 day' from made`,
    [user.id, kid],
  );
  const texts = await statementsOf(() => revokeSigningKey(keyDeps, kid));
  assert.equal(texts.filter((text) => /\bsession(s|_tokens)\b/.test(text)).length, 0, texts.join('\n'));
  for (const where of both) assert.equal(await isAccepted(where, client.accessToken as string), false);
  // A session that another transaction has locked is skipped and ended later.
  const [held] = await liveSessionIds(service, user.id);
  await service.sql("update revoked_signing_keys set revoked_at = revoked_at - interval '1 minute'");
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: lockTaken } = Promise.withResolvers<void>();
  const holder = db.transaction().execute(async (tx) => {
    await tx
      .selectFrom('sessions')
      .select('id')
      .where('id', '=', held as string)
      .forUpdate()
      .execute();
    lockTaken();
    await released;
  });
  await locked;
  const live = await countLive();
  assert.ok(live > 3_000);
  assert.deepEqual(await endSessionsOfRevokedKeys(db), { ended: live - 1, done: false });
  release();
  await holder;
  assert.deepEqual(await endSessionsOfRevokedKeys(db), { ended: 1, done: true });
  assert.deepEqual(await liveSessionIds(service, user.id), []);
  tally.tried(3_001);
  tally.held(5);
});

scenario('a pending rotation does not override an immediate one', async (tally) => {
  const pending = await rotateSigningKey(keyDeps, { atOnce: false, announceMinutes: 30 });
  const now = await rotateSigningKey(keyDeps, { atOnce: true });
  assert.deepEqual(now.dropped, [pending.keyId]);
  for (const where of both) {
    await isKnown(where, now.keyId);
    await isForgotten(where, pending.keyId);
  }
  await beginSigning(now.keyId);
  assert.equal(kidOf((await signIn(twin, await addUser(service))).accessToken), now.keyId);
  tally.tried(2);
  tally.held(4);
});

scenario(
  'a refresh under a key just rotated gets the same answer when it is retried at another instance',
  async (tally) => {
    // Every instance has read the key twice before the key signs.
    assert.ok(2 * KEY_RELOAD_SECONDS < KEY_SPREAD_SECONDS);
    const clients: TestClient[] = [];
    for (let one = 0; one < 4; one += 1) clients.push(await signIn(service, await addUser(service)));
    const { keyId } = await rotateSigningKey(keyDeps, { atOnce: true });
    for (const [index, client] of clients.entries()) {
      const [here, there] = index % 2 ? [service, twin] : [twin, service];
      // An instance begins a moment later than the database's clock says, and not together with the other one.
      await eventually(
        () => here.service.deps.keyRing.current().id === keyId || undefined,
        `the instance ${here.url} to sign with the new key`,
      );
      const token = client.refreshToken as string;
      const first = await refresh(client.at(here.url), token);
      assert.equal(kidOf(first.body.data.refresh_token), keyId);
      const again = await refresh(client.at(there.url), token);
      assert.equal(again.body.data?.refresh_token, first.body.data.refresh_token, again.text);
      tally.tried(2);
      tally.held(2);
    }
  },
);

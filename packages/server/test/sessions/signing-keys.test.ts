// The signing keys as other services see them, and how they are added, take effect and are kept.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  ADMIN,
  signIn,
  startTestService,
  TEST_SECRET_KEY,
  type TestService,
} from '@castellan/testing/harness';
import { addUser, isAccepted } from '@castellan/testing/sessions/accounts';
import { isSignedBy, type PublishedKey, readToken } from '@castellan/testing/sessions/own-tokens';
import { cleanUp } from '../../src/cleanup.ts';
import { listSigningKeys, revokeSigningKey } from '../../src/modules/sessions/keys/revocation.ts';
import { addSigningKey } from '../../src/modules/sessions/keys/ring.ts';
import { rotateSigningKey } from '../../src/modules/sessions/keys/rotation.ts';

const service = await startTestService({ after });
const JWKS = '/.well-known/jwks.json';

async function published(where: TestService): Promise<PublishedKey[]> {
  const answer = await where.client().get(JWKS);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.keys;
}

/** Adds a key as `rotate-key` of the command line does. */
const addKey = (where: TestService, delaySeconds: number): Promise<string> =>
  where.service.deps.db
    .transaction()
    .execute((tx) => addSigningKey(tx, Buffer.from(TEST_SECRET_KEY), delaySeconds));

const rotate = (
  { service: { deps } }: TestService,
  announceMinutes: number,
): ReturnType<typeof rotateSigningKey> =>
  rotateSigningKey(
    { db: deps.db, auditLog: deps.auditLog, secretKey: Buffer.from(TEST_SECRET_KEY) },
    { atOnce: false, announceMinutes },
  );

/** Moves the times of the keys into the past, as if this long had passed. */
async function pass(minutes: number, ...instances: TestService[]): Promise<void> {
  for (const table of ['signing_keys', 'application_keys'])
    await instances[0]?.sql(`update ${table} set signs_from = signs_from - make_interval(mins => $1)`, [
      minutes,
    ]);
  for (const {
    service: { deps },
  } of instances)
    await deps.keyRing.load();
}

const kidOf = (token: string | null): unknown => readToken(token as string).header.kid;

test('the key set contains only public members, and may be cached for a minute', async () => {
  const answer = await service.client().get(JWKS);
  assert.equal(answer.headers.get('cache-control'), 'public, max-age=60');
  assert.match(answer.headers.get('content-type') ?? '', /json/);
  assert.deepEqual(Object.keys(answer.body), ['keys']);
  assert.equal(answer.body.keys.length, 1);
  for (const key of answer.body.keys) {
    assert.deepEqual(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x']);
    assert.deepEqual([key.kty, key.crv, key.alg, key.use], ['OKP', 'Ed25519', 'EdDSA', 'sig']);
  }
});

test('both tokens of a sign-in can be verified with node:crypto and the key set', async () => {
  const client = await signIn(service, await addUser(service));
  const keys = await published(service);
  for (const token of [client.accessToken, client.refreshToken]) assert.ok(isSignedBy(token as string, keys));
  const [header, , signature] = (client.accessToken as string).split('.');
  const forged = { ...readToken(client.accessToken as string).claims, sub: crypto.randomUUID() };
  const payload = Buffer.from(JSON.stringify(forged)).toString('base64url');
  assert.equal(isSignedBy(`${header}.${payload}.${signature}`, keys), false);
});

for (const [kind, typ, audience, seconds] of [
  ['access', 'at+jwt', 'http://castellan.test', 1_800],
  ['refresh', 'rt+jwt', 'http://castellan.test/api/v1/auth/refresh', 7 * 86_400],
] as const)
  test(`an ${kind} token has typ ${typ}, its audience and times, and contains no permissions`, async () => {
    const user = await addUser(service);
    const client = await signIn(service, user);
    const token = kind === 'access' ? client.accessToken : client.refreshToken;
    const { header, claims } = readToken(token as string);
    assert.deepEqual({ ...header, kid: null }, { alg: 'EdDSA', typ, kid: null });
    const { iat, exp, jti, sid, ...rest } = claims;
    assert.deepEqual(rest, {
      iss: 'http://castellan.test',
      sub: user.id,
      aud: audience,
      ...(kind === 'access' ? { client_id: 'castellan' } : { nbf: iat }),
      type: kind,
    });
    assert.equal(exp - iat, seconds);
    assert.ok(Math.abs(iat - Date.now() / 1_000) < 60);
    for (const id of [jti, sid])
      assert.match(id, /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/);
  });

test('ACCESS_TOKEN_EXPIRE_MINUTES and REFRESH_TOKEN_EXPIRE_DAYS take effect', async () => {
  const other = await service.another({ ACCESS_TOKEN_EXPIRE_MINUTES: '5', REFRESH_TOKEN_EXPIRE_DAYS: '1' });
  const client = await signIn(other, await addUser(service));
  const life = (token: string | null) => {
    const { exp, iat } = readToken(token as string).claims;
    return exp - iat;
  };
  assert.equal(life(client.accessToken), 300);
  assert.equal(life(client.refreshToken), 86_400);
});

test('two instances that start at once on one database publish the same keys', async () => {
  const [one, other] = await Promise.all([service.another(), service.another()]);
  assert.deepEqual(await published(one), await published(other));
});

test('a new key is published at once, signs after its delay, and old tokens stay valid', async (t) => {
  const own = await startTestService(t);
  const user = await addUser(own);
  const before = await signIn(own, user);
  const oldKid = kidOf(before.accessToken);

  const newKid = await addKey(own, 3_600);
  await own.service.deps.keyRing.load();
  assert.deepEqual(new Set((await published(own)).map((key) => key.kid)), new Set([oldKid, newKid]));
  assert.equal(kidOf((await signIn(own, user)).accessToken), oldKid);

  await own.sql("update signing_keys set signs_from = now() - interval '1 second' where key_id = $1", [
    newKid,
  ]);
  const later = await own.another();
  const signed = await signIn(later, user);
  assert.equal(kidOf(signed.accessToken), newKid);
  assert.equal(kidOf(signed.refreshToken), newKid);
  assert.ok(isSignedBy(signed.accessToken as string, await published(own)), 'not in an earlier key set');
  for (const where of [own, later])
    for (const client of [before, signed]) assert.ok(await isAccepted(where, client.accessToken as string));

  const refreshed = await before
    .at(later.url)
    .post('/api/v1/auth/refresh', { refresh_token: before.refreshToken });
  assert.equal(kidOf(refreshed.body.data.refresh_token), newKid);
  const retried = await before.post('/api/v1/auth/refresh', { refresh_token: before.refreshToken });
  assert.equal(retried.body.data.refresh_token, refreshed.body.data.refresh_token);
});

test('a key is announced for its time on every instance, beside another announced key and across a restart', async (t) => {
  const one = await startTestService(t);
  const two = await one.another();
  const user = await addUser(one);
  const assertSigns = async (keyId: unknown, instances: TestService[]): Promise<void> => {
    for (const where of instances) assert.equal(kidOf((await signIn(where, user)).accessToken), keyId);
  };
  const first = kidOf((await signIn(one, user)).accessToken);
  const second = await rotate(one, 30);
  await pass(20, one, two);
  const third = await rotate(two, 30);
  await pass(9, one, two);
  const all = new Set([first, second.keyId, third.keyId]);
  const assertPublished = async (instances: TestService[]): Promise<void> => {
    for (const where of instances)
      assert.deepEqual(new Set((await published(where)).map(({ kid }) => kid)), all);
  };
  await assertSigns(first, [one, two]);
  const restarted = await one.another();
  await assertPublished([one, two, restarted]);
  await assertSigns(first, [restarted]);
  await pass(2, one, two, restarted);
  await assertSigns(second.keyId, [one, two, restarted]);
  await pass(18, one, two, restarted);
  await assertSigns(second.keyId, [one, restarted]);
  await pass(2, one, two, restarted);
  await assertSigns(third.keyId, [one, two, restarted]);
  await assertPublished([one, two, restarted]);
});

test('a former key stays as long as a key is announced, and as long as its tokens may be valid', async (t) => {
  for (const settings of [
    { KEY_ANNOUNCE_MINUTES: '60', REFRESH_TOKEN_EXPIRE_DAYS: '0.01', ACCESS_TOKEN_EXPIRE_MINUTES: '5' },
    { KEY_ANNOUNCE_MINUTES: '1', REFRESH_TOKEN_EXPIRE_DAYS: '0.01', ACCESS_TOKEN_EXPIRE_MINUTES: '60' },
    {
      KEY_ANNOUNCE_MINUTES: '1',
      REFRESH_TOKEN_EXPIRE_DAYS: '0.0417',
      ACCESS_TOKEN_EXPIRE_MINUTES: '5',
    },
  ]) {
    const own = await startTestService(t, settings);
    const former = kidOf((await signIn(own, await addUser(own))).accessToken);
    const { keyId } = await rotate(own, 30);
    const assertKept = async (...kids: unknown[]): Promise<void> => {
      await cleanUp(own.service.deps);
      const rows = await own.sql<{ key_id: string }>('select key_id from signing_keys');
      assert.deepEqual(new Set(rows.map(({ key_id }) => key_id)), new Set(kids), JSON.stringify(settings));
    };
    await pass(30 + 55, own);
    await assertKept(former, keyId);
    await pass(10, own);
    await assertKept(keyId);
  }
});

test('a key with a delay of 0 signs as soon as it is loaded, without a restart', async (t) => {
  const own = await startTestService(t);
  const user = await addUser(own);
  const newKid = await addKey(own, 0);
  await own.service.deps.keyRing.load();
  assert.equal(kidOf((await signIn(own, user)).accessToken), newKid);
});

test('a revoked token of a former key is distinguished from a forged one', async (t) => {
  const own = await startTestService(t);
  const client = await signIn(own, await addUser(own));
  await addKey(own, 0);
  const later = await own.another();
  await client.post('/api/v1/auth/logout');
  assert.equal((await client.at(later.url).get('/api/v1/users/me')).body.code, 'token_revoked');
});

test('a key of a family that this release does not know is not published, signs nothing and is not retired', async (t) => {
  const own = await startTestService(t, {
    ACCESS_TOKEN_EXPIRE_MINUTES: '15',
    REFRESH_TOKEN_EXPIRE_DAYS: '1',
  });
  const [ours] = (await published(own)).map(({ kid }) => kid);
  await own.sql(
    `insert into signing_keys (key_id, public_jwk, private_key_sealed, signs_from, purpose, alg)
     values ('other', '{"kty":"AKP"}', '\\x00', now() - interval '1 year', 'application', 'ML-DSA-44')`,
  );
  await pass(60, own);
  const user = await addUser(own);
  assert.equal(kidOf((await signIn(own, user)).accessToken), ours);
  assert.deepEqual(
    (await published(own)).map(({ kid }) => kid),
    [ours],
  );
  await addKey(own, 0);
  await pass(60 * 24 * 31, own);
  await cleanUp(own.service.deps);
  const rows = await own.sql<{ key_id: string }>(
    `select key_id from signing_keys where purpose <> 'session'`,
  );
  assert.deepEqual(rows, [{ key_id: 'other' }]);
});

test('a key for applications is published, signs no session, and is retired 30 days after its successor signs', async (t) => {
  const own = await startTestService(t);
  const { db } = own.service.deps;
  const secretKey = Buffer.from(TEST_SECRET_KEY);
  const [ours] = (await published(own)).map(({ kid }) => kid);
  const add = (alg: 'RS256' | 'ES256') =>
    db.transaction().execute((tx) => addSigningKey(tx, secretKey, 0, { purpose: 'application', alg }));
  const [rsa, ec] = [await add('RS256'), await add('ES256')];
  await pass(60, own);
  assert.equal(kidOf((await signIn(own, await addUser(own))).accessToken), ours);
  const shapes = (await published(own)).map(({ kid, alg, ...rest }) => [kid, alg, Object.keys(rest).sort()]);
  assert.deepEqual(
    new Map(shapes.map(([kid, ...rest]) => [kid, rest])),
    new Map([
      [ours, ['EdDSA', ['crv', 'kty', 'use', 'x']]],
      [rsa, ['RS256', ['e', 'kty', 'n', 'use']]],
      [ec, ['ES256', ['crv', 'kty', 'use', 'x', 'y']]],
    ]),
  );
  const options = { atOnce: true } as const;
  const keyDeps = { db, auditLog: own.service.deps.auditLog, secretKey };
  const { keyId, dropped } = await rotateSigningKey(keyDeps, options, {
    purpose: 'application',
    alg: 'RS256',
  });
  assert.deepEqual(dropped, []);
  const kept = async () => {
    await cleanUp(own.service.deps);
    return new Set((await listSigningKeys(db)).map(({ id }) => id));
  };
  await pass(60 * 24 * 29, own);
  assert.deepEqual(await kept(), new Set([ours, rsa, ec, keyId]));
  await pass(60 * 24 * 2, own);
  assert.deepEqual(await kept(), new Set([ours, ec, keyId]));
});

test('an application adds nothing to signing_keys, whose every row release 0.2 takes for a key of sessions', async (t) => {
  const own = await startTestService(t);
  const admin = await signIn(own, ADMIN);
  // As release 0.2 reads them.
  const rows = () =>
    own.sql<{ kty: string }>(
      `select key_id, public_jwk ->> 'kty' as kty, public_jwk ->> 'alg' as alg from signing_keys order by signs_from desc, key_id`,
    );
  const before = await rows();
  const made = await admin.post('/api/v1/applications', { client_id: 'one', name: 'One' });
  assert.equal(made.status, 201, made.text);
  assert.deepEqual([await rows(), before.map(({ kty }) => kty)], [before, ['OKP']]);
  const added = await own.sql<{ alg: string }>('select alg from application_keys order by alg');
  assert.deepEqual(added, [{ alg: 'ES256' }, { alg: 'RS256' }]);
});

test('every instance learns at its next read whether there is an active application, and has its keys then', async (t) => {
  const own = await startTestService(t);
  const twin = await own.another();
  const admin = await signIn(own, ADMIN);
  const rings = [own, twin].map(({ service: { deps } }) => deps.keyRing);
  const read = async () => {
    for (const ring of rings) await ring.load();
    return rings.map((ring) => ring.hasActiveApplication());
  };
  assert.deepEqual(await read(), [false, false]);
  for (const ring of rings)
    assert.throws(() => ring.currentOfApplications('RS256'), {
      code: 'temporarily_unavailable',
      status: 503,
    });
  const made = await admin.post('/api/v1/applications', { client_id: 'one', name: 'One' });
  assert.equal(made.status, 201, made.text);
  assert.deepEqual(await read(), [true, true]);
  const signed = rings.map((ring) =>
    (['RS256', 'ES256'] as const).map((alg) => {
      const { id, privateKey } = ring.currentOfApplications(alg);
      return [id, privateKey.asymmetricKeyType];
    }),
  );
  const kids = Object.fromEntries((await published(own)).map(({ alg, kid }) => [alg, kid]));
  const expected = [
    [kids.RS256, 'rsa'],
    [kids.ES256, 'ec'],
  ];
  assert.deepEqual(signed, [expected, expected]);
  const path = `/api/v1/applications/${made.body.data.id}`;
  assert.equal((await admin.put(path, { is_active: false })).status, 200);
  assert.deepEqual(await read(), [false, false]);
  // A new key signs when it is due, and not before.
  const secretKey = Buffer.from(TEST_SECRET_KEY);
  const { db, auditLog } = own.service.deps;
  const { keyId } = await rotateSigningKey(
    { db, auditLog, secretKey },
    { atOnce: false, announceMinutes: 1_440 },
    { purpose: 'application', alg: 'ES256' },
  );
  await pass(1_439, own, twin);
  assert.deepEqual(
    rings.map((ring) => ring.currentOfApplications('ES256').id),
    [kids.ES256, kids.ES256],
  );
  await pass(1, own, twin);
  assert.deepEqual(
    rings.map((ring) => ring.currentOfApplications('ES256').id),
    [keyId, keyId],
  );
  assert.equal(rings[0]?.currentOfApplications('RS256').id, kids.RS256);
});

test('commands read the keys of a database that the release before migrated', async (t) => {
  const own = await startTestService(t);
  const [ours] = await listSigningKeys(own.service.deps.db);
  await own.sql('alter table signing_keys drop column purpose, drop column alg');
  await own.sql('drop table application_keys, application_secrets, applications cascade');
  const { db, auditLog, keyRing } = own.service.deps;
  assert.deepEqual(await listSigningKeys(db), [ours]);
  await keyRing.load();
  assert.equal(keyRing.current().id, ours?.id);
  const secretKey = Buffer.from(TEST_SECRET_KEY);
  const revocation = await revokeSigningKey({ db, auditLog, secretKey }, ours?.id as string);
  assert.equal(revocation.outcome, 'revoked');
  assert.equal((await listSigningKeys(db)).length, 1);
});

test('private keys are stored encrypted: no readable form of one is in the database', async () => {
  const [row] = await service.sql<{ private_key_sealed: Buffer; text: string }>(
    'select private_key_sealed, signing_keys::text as text from signing_keys',
  );
  // The first bytes of every Ed25519 key in PKCS #8 (RFC 8410).
  assert.equal(row?.private_key_sealed.includes(Buffer.from('302e020100300506032b6570', 'hex')), false);
  assert.doesNotMatch(row?.text ?? '', /"d":/);
});

test('another SECRET_KEY fails the start with a message that names the setting and the fix', async (t) => {
  const own = await startTestService(t);
  await assert.rejects(
    own.another({ SECRET_KEY: 'another secret key, also 32 bytes or more' }),
    (error: Error) => {
      assert.match(error.message, /SECRET_KEY/);
      assert.match(error.message, /cannot be decrypted/);
      assert.ok(!error.message.includes('another secret key'), 'the error does not contain the secret');
      return true;
    },
  );
});

test('a SECRET_KEY under 32 bytes fails the start', async () => {
  await assert.rejects(service.another({ SECRET_KEY: 'too short' }), /SECRET_KEY/);
});

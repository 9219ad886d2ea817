// An instance whose clock is wrong beside one whose clock is right: tokens, links, locks, keys and jobs follow the
// database's time. It must not set the clock of the database.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { until } from '@castellan/embedded-postgres/testing';
import { addSigningKey } from '@castellan/server/modules/sessions/keys/ring';
import { createKysely } from '@castellan/server/platform/db/pool';
import type { Tables } from '@castellan/server/schema/tables';
import { createClient } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { scenariosOf, type Tally } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';
import { mailsOf } from '@castellan/testing/start/kept-files';
import pg from 'pg';
import {
  assertTimes,
  auth,
  type Clocks,
  claimsOf,
  databaseSeconds,
  keyOf,
  meAt,
  openClocks,
  someShifts,
  tooLate,
  transactionNow,
} from './fixture.ts';

const scenario = scenariosOf('faults');
const KEY_DELAY_SECONDS = 1_800;

/** Returns the id of the key with which an instance signs now. */
async function signedAt(url: string): Promise<string> {
  const client = createClient(url);
  assert.equal((await client.login(ADMIN)).status, 200);
  return keyOf(client.accessToken as string);
}

/** Adds a signing key that will sign later, as a rotation does. */
async function addKey(databaseUrl: string): Promise<string> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  try {
    return await createKysely<Tables>(pool)
      .transaction()
      .execute((tx) => addSigningKey(tx, Buffer.from(TEST_SECRET_KEY), KEY_DELAY_SECONDS));
  } finally {
    await pool.end();
  }
}

/**
 * Checks tokens from the instance with the wrong clock: the database dates them, both instances accept them and both
 * end them.
 */
async function checkTokens(clocks: Clocks, tally: Tally): Promise<void> {
  const { service, wrong, right } = clocks;
  const client = createClient(wrong);
  const before = Math.floor(await databaseSeconds(service));
  assert.equal((await client.login(ADMIN)).status, 200);
  const { iat, nbf, exp } = claimsOf(client.accessToken as string);
  assert.ok(iat >= before && iat <= (await databaseSeconds(service)), `${iat} instead of ${before}`);
  assert.deepEqual([nbf, exp], [undefined, iat + 1_800]);
  const other = createClient(right);
  assert.equal((await other.login(ADMIN)).status, 200);
  assert.equal(keyOf(client.accessToken as string), keyOf(other.accessToken as string));
  for (const token of [client.accessToken, other.accessToken])
    for (const url of [wrong, right]) assert.equal((await meAt(url, token)).status, 200);
  const first = client.refreshToken;
  const refreshed = await client.post(`${auth}/refresh`, { refresh_token: first });
  assert.equal(refreshed.status, 200, refreshed.text);
  const again = await createClient(right).post(`${auth}/refresh`, { refresh_token: first });
  assert.equal(again.body.data?.refresh_token, refreshed.body.data.refresh_token, again.text);
  await service.sql(
    `update session_tokens set rotated_at = now() - interval '31 seconds' where rotated_at is not null`,
  );
  assert.equal((await createClient(wrong).post(`${auth}/refresh`, { refresh_token: first })).status, 401);
  assert.deepEqual(await service.sql(tooLate), []);
  await service.sql(`update session_tokens set expires_at = now() where kind = 'access'`);
  for (const url of [wrong, right]) assert.equal((await meAt(url, other.accessToken)).status, 401);
  tally.tried(12);
  tally.held(12);
}

/** Checks locks and mailed links made by the instance with the wrong clock. */
async function checkAccounts({ service, child, wrong, right }: Clocks, tally: Tally): Promise<void> {
  const user = await addUser({ sql: service.sql });
  const bad = { email: user.email, password: 'Wrong#Quartz82Lime' };
  for (let attempt = 0; attempt < 3; attempt += 1) await createClient(wrong).login(bad);
  for (const url of [wrong, right])
    assert.equal((await createClient(url).login(user)).body.code, 'account_locked');
  assert.deepEqual(await service.sql(tooLate), []);
  await service.sql('update login_attempts set locked_until = now() where email = $1', [user.email]);
  assert.equal((await createClient(wrong).login(user)).status, 200);
  const visitor = createClient(wrong);
  const names = { first_name: 'Ada', last_name: 'Love' };
  const links: string[] = [];
  for (const shown of [0, 1]) {
    const email = newEmail('clock');
    assert.equal(
      (await visitor.post(`${auth}/register`, { email, password: PASSWORD, ...names })).status,
      201,
    );
    // Either instance may send it.
    const find = (text: string): string | undefined =>
      new RegExp(`^To: ${email}$[^]*?#token=([\\w-]+)`, 'm').exec(text)?.[1];
    let token: string | undefined;
    await until(`mail ${shown} is there`, () => {
      token = [child, service.child]
        .flatMap(mailsOf)
        .map(find)
        .find((one) => one !== undefined);
      return token !== undefined;
    });
    links.push(token as string);
  }
  assert.equal((await visitor.post(`${auth}/verify-email`, { token: links[0] })).status, 200);
  assert.deepEqual(await service.sql(tooLate), []);
  await service.sql('update one_time_tokens set expires_at = now() where used_at is null');
  assert.equal((await visitor.post(`${auth}/verify-email`, { token: links[1] })).status, 400);
  tally.tried(10);
  tally.held(5);
}
suite('wrong clocks', { concurrency: 3 }, () => {
  scenario(
    'an instance whose clock is wrong issues valid tokens, locks and links, accepts no invalid ones, and runs no extra jobs',
    async (tally, t) => {
      for (const shiftMs of someShifts) {
        const clocks = await openClocks(t, shiftMs);
        const since = await transactionNow(clocks.service);
        tally.injected();
        await checkTokens(clocks, tally);
        await checkAccounts(clocks, tally);
        tally.held(await assertTimes(clocks.service, since));
        const runs = [clocks.child, clocks.service.child].map(
          (child) => child.out().split('clean-up done').length - 1,
        );
        assert.deepEqual(runs, [0, 0], 'a clean-up ran before its slot');
        tally.held(1 + (await assertSound({ sql: clocks.service.sql })));
      }
    },
  );

  scenario(
    'a new signing key signs when the database says so, also at an instance whose clock is ahead or behind',
    async (tally, t) => {
      for (const shiftMs of someShifts) {
        const clocks = await openClocks(t, shiftMs);
        const { service } = clocks;
        const [row] = await service.sql<{ kid: string }>('select key_id as kid from signing_keys');
        assert.ok(row);
        const next = await addKey(service.databaseUrl);
        const late = await service.another(clocks.environment);
        tally.injected();
        const before = await signedAt(late.url);
        assert.equal(before, row.kid, 'a key signs that caches do not know yet');
        await service.sql(
          `update signing_keys set signs_from = now() - interval '1 second' where key_id = $1`,
          [next],
        );
        const later = await service.another(clocks.environment);
        assert.equal(await signedAt(later.url), next, 'the old key still signs');
        tally.tried(2);
        tally.held(3);
      }
    },
  );
});

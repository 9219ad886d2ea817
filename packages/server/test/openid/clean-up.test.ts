// What the clean-up removes: grants and tokens that nothing can be done with, and no others.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TEST_SECRET_KEY } from '@castellan/testing/harness';
import { removeSessionRows } from '../../src/cleanup.ts';
import { settleRestored } from '../../src/modules/backup/after-restore.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { startWithAdmin } from '../applications/fixture.ts';
import { begin, poll } from './device/fixture.ts';
import {
  addApplication,
  addGrant,
  addSignedIn,
  assertError,
  refresh,
  tokensOf,
  userinfo,
} from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
await service.service.scheduler.stop();
const web = await addApplication(admin, [service]);
const ids = async (table: 'access_grants' | 'application_tokens', column: 'id' | 'grant_id') =>
  (await service.sql<{ id: string }>(`select ${column} as id from ${table}`)).map(({ id }) => id);

const ends: Readonly<Record<string, string>> = {
  'that was ended': 'update access_grants set revoked_at = now() where id = $1',
  'past its absolute end': 'update access_grants set expires_at = now() where id = $1',
  'past its last token': 'update access_grants set ends_at = now() where id = $1',
  'of an expired session':
    'update sessions set expires_at = now() where id = (select session_id from access_grants where id = $1)',
  'of an ended session': `with ended as (
      update sessions set revoked_at = now(), revoked_reason = 'logout'
      where id = (select session_id from access_grants where id = $1) returning id, user_id)
    insert into session_ends (user_id, session_id, reason) select user_id, id, 'logout' from ended`,
  'of an account whose sessions all ended': `with raised as (
      update users set session_epoch = session_epoch + 1
      where id = (select user_id from access_grants where id = $1) returning id, session_epoch)
    insert into session_ends (user_id, before_epoch, reason) select id, session_epoch, 'logout_all' from raised`,
  'of a deleted account': 'delete from users where id = (select user_id from access_grants where id = $1)',
};

for (const [what, end] of Object.entries(ends))
  test(`a grant ${what} goes, and a live one stays`, async () => {
    const kept = await tokensOf(service, web, await addSignedIn(service));
    const ended = await tokensOf(service, web, await addSignedIn(service));
    await service.sql(end, [ended.grant.id]);
    await removeSessionRows(service.service.deps);
    const left = await ids('access_grants', 'id');
    assert.deepEqual([left.includes(ended.grant.id), left.includes(kept.grant.id)], [false, true]);
    assert.equal((await userinfo(service, kept.access_token)).status, 200);
    assert.equal((await refresh(service, web, kept.refresh_token)).status, 200);
  });

test('an offline grant outlives the session, a code that was not exchanged and an expired token go', async () => {
  const who = await addSignedIn(service);
  const offline = await tokensOf(service, web, who, { offline: true });
  const unused = await addGrant(service, web, who, { expiresInSeconds: -1 });
  await service.sql(`update application_tokens set expires_at = now() where grant_id = $1`, [
    offline.grant.id,
  ]);
  await service.sql(ends['of an ended session'] ?? '', [offline.grant.id]);
  await removeSessionRows(service.service.deps);
  const left = await ids('access_grants', 'id');
  assert.deepEqual([left.includes(offline.grant.id), left.includes(unused.id)], [true, false]);
  assert.ok(!(await ids('application_tokens', 'grant_id')).includes(offline.grant.id));
  assert.equal((await refresh(service, web, offline.refresh_token)).status, 200);
});

test('a restore that ends sessions ends every grant, offline ones too, and a restore that keeps them none', async () => {
  const who = await addSignedIn(service);
  const bound = await tokensOf(service, web, who);
  const offline = await tokensOf(service, web, who, { offline: true });
  const tv = await addApplication(admin, [service], { type: 'device', redirect_uris: [] });
  const waiting = await begin(service, tv);
  const { db, log } = service.service.deps;
  const restore = (sessions: 'end' | { secretKey: Buffer }) =>
    inTransaction(db, (tx) =>
      settleRestored(tx, log, { sessions, revokeApiKeys: false }, new Date().toISOString()),
    );
  await restore({ secretKey: Buffer.from(TEST_SECRET_KEY) });
  for (const { access_token } of [bound, offline])
    assert.equal((await userinfo(service, access_token)).status, 200);
  assertError(await poll(service, tv, waiting), 400, 'authorization_pending');
  await restore('end');
  assert.deepEqual(await ids('application_tokens', 'grant_id'), []);
  const rows = await service.sql('select from access_grants where revoked_at is null');
  assert.equal(rows.length, 0);
  assertError(await poll(service, tv, waiting), 400, 'invalid_grant');
  for (const { access_token } of [bound, offline])
    assert.equal((await userinfo(service, access_token)).status, 401);
});

// A consent that is withdrawn while a person is led to the application: whichever commits second, no grant is left.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '@castellan/testing/harness';
import { startWithAdmin } from '../../applications/fixture.ts';
import { addApplication, addSignedIn } from '../fixture.ts';
import { act, ask, interactionOf, ledTo, resume } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const foreign = await addApplication(admin, [service], { first_party: false });
const ada = await addSignedIn(service);

const agree = async (): Promise<string> => {
  const id = interactionOf(await ask(ada.client, foreign, { prompt: 'consent' }));
  assert.equal((await act(ada.client, id, 'consent', { decision: 'allow' })).status, 200);
  return id;
};
const withdraw = () => ada.client.delete(`/api/v1/users/me/applications/${foreign.id}`);
const liveGrants = () =>
  service.sql('select from access_grants where application_id = $1 and revoked_at is null', [foreign.id]);
/** Waits until this many statements wait for a lock. */
const waiting = (count: number) =>
  eventually(async () => {
    const found = await service.sql(
      `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    return found.length === count || undefined;
  }, `${count} statements that wait`);

test('what was agreed to in a request that waits counts no longer once it is withdrawn', async () => {
  const id = await agree();
  assert.equal((await withdraw()).status, 200);
  const answer = await resume(ada.client, id);
  assert.equal(answer.status, 400, answer.text);
  assert.equal((await liveGrants()).length, 0);
});

test('a withdrawal that is not committed yet holds the authorization, which then asks again', async () => {
  await resume(ada.client, await agree());
  assert.equal((await withdraw()).status, 200);
  await agree();
  const withdrawing = await service.service.deps.pool.connect();
  try {
    await withdrawing.query('begin');
    await withdrawing.query('delete from consents where application_id = $1', [foreign.id]);
    const answer = ask(ada.client, foreign);
    await waiting(1);
    await withdrawing.query('commit');
    assert.match(ledTo(await answer).address, /\/consent$/);
    assert.equal((await liveGrants()).length, 0);
  } finally {
    withdrawing.release();
  }
});

test('an authorization waits for no other one that shares the consent', async () => {
  await agree();
  await service.sql(
    `update consents set last_used_at = now() - interval '1 hour' where application_id = $1`,
    [foreign.id],
  );
  const other = await service.service.deps.pool.connect();
  try {
    await other.query('begin');
    await other.query('select from consents where application_id = $1 for share', [foreign.id]);
    assert.ok(ledTo(await ask(ada.client, foreign)).fields.code);
  } finally {
    await other.query('rollback');
    other.release();
  }
  const isOld = `select from consents where application_id = $1 and last_used_at < now() - interval '1 minute'`;
  assert.equal((await service.sql(isOld, [foreign.id])).length, 1);
  assert.ok(ledTo(await ask(ada.client, foreign)).fields.code);
  assert.equal((await service.sql(isOld, [foreign.id])).length, 0);
});

test('20 authorizations beside withdrawals leave no grant without a consent', async () => {
  for (let round = 0; round < 5; round += 1) {
    await agree();
    await Promise.all([...Array.from({ length: 4 }, () => ask(ada.client, foreign)), withdraw()]);
    assert.equal((await liveGrants()).length, 0);
  }
});

test('a second click on allow waits for the authorization that the first one led to, and finds it finished', async () => {
  const id = await agree();
  const holder = await service.service.deps.pool.connect();
  try {
    await holder.query('begin');
    await holder.query('select from consents where application_id = $1 for update', [foreign.id]);
    const resumed = resume(ada.client, id);
    await waiting(1);
    // The authorization holds the request while it waits for the consent: a second click, which takes both in this order, is behind it.
    const free = await service.sql(
      `select from application_requests where id_hash = sha256($1::text::bytea) for update skip locked`,
      [id],
    );
    assert.equal(free.length, 0);
    const again = act(ada.client, id, 'consent', { decision: 'allow' });
    await waiting(2);
    await holder.query('commit');
    assert.ok(ledTo(await resumed).fields.code);
    assert.equal((await again).status, 404);
  } finally {
    holder.release();
  }
});

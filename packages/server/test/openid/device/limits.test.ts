// What is counted of devices: wrong user codes, and requests that wait.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { tally } from '@castellan/testing/users/people';
import { removeSessionRows } from '../../../src/cleanup.ts';
import { startWithAdmin } from '../../applications/fixture.ts';
import { addApplication, addSignedIn, assertError } from '../fixture.ts';
import { askForDevice, begin, lookUp, poll, type } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after }, { RATE_LIMIT_AUTHORIZE: 'off' });
const twin = await service.another();
const tv = await addApplication(admin, [service, twin], { type: 'device', redirect_uris: [] });
const forgetLimits = () => service.sql('delete from rate_limits');

const wrong = (index: number): string => {
  const letters = 'BCDFGHJKLMNPQRSTVWXZ';
  return `ZZZZZZ${letters[Math.floor(index / 20) % 20]}${letters[index % 20]}`;
};

test('five wrong codes of a session, then even the right one is refused', async () => {
  await forgetLimits();
  const { client, person } = await addSignedIn(service);
  const asked = await begin(service, tv);
  for (let right = 0; right < 7; right += 1) await lookUp(client, asked);
  for (const text of ['OOOO-0000', '', 'x'.repeat(500), wrong(1), wrong(2)]) {
    const answer = await type(client, text);
    assert.deepEqual([answer.status, answer.body.code], [404, 'user_code_unknown'], text);
    await lookUp((await addSignedIn(service)).client, asked);
  }
  for (const text of [wrong(3), asked.user_code]) {
    const answer = await type(client, text);
    assert.deepEqual([answer.status, answer.body.code], [429, 'rate_limited']);
    assert.ok(Number(answer.headers.get('retry-after')) > 500);
  }
  await lookUp((await addSignedIn(service)).client, asked);
  const events = await service.sql(
    `select 1 from audit_logs where action = 'rate_limited' and actor_id = $1 and details->>'limit' = 'user_code'`,
    [person.id],
  );
  assert.ok(events.length > 0);
});

test('50 wrong codes at once on two instances: five are looked at', async () => {
  await forgetLimits();
  const { client } = await addSignedIn(service);
  const elsewhere = twin.client();
  for (const [name, value] of client.cookies) elsewhere.cookies.set(name, value);
  await elsewhere.get('/api/v1/auth/csrf-token');
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => type(index % 2 ? client : elsewhere, wrong(index))),
  );
  assert.deepEqual(tally(answers), { 404: 5, 429: 45 });
});

test('30 wrong codes of a network, by several people', async () => {
  await forgetLimits();
  const people = [];
  for (let made = 0; made < 6; made += 1) people.push(await addSignedIn(service));
  const last = await addSignedIn(service);
  const answers = [];
  for (const { client } of [...people, last])
    for (let index = 0; index < 5; index += 1) answers.push(await type(client, wrong(index)));
  assert.deepEqual(tally(answers), { 404: 30, 429: 5 });
  const asked = await begin(service, tv);
  assert.equal((await type(last.client, asked.user_code)).status, 429);
  await service.sql(`delete from rate_limits where key like 'user-code|net:%'`);
  // What the network refused did not count for the session.
  await lookUp(last.client, asked);
});

test('1,000 requests of an application wait at once, also when many come together', async () => {
  await service.sql(
    `insert into device_requests (code_hash, user_code, application_id, scopes, address, expires_at)
     select sha256(int8send(n)), translate(lpad(n::text, 8, '0'), '0123456789', 'BCDFGHJKLM'), $1, '{openid}', '192.0.2.1',
       now() + interval '10 minutes'
     from generate_series(1, 990 - (select count(*) from device_requests where application_id = $1
       and grant_id is null and denied_at is null)) n`,
    [tv.id],
  );
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => askForDevice(index % 2 ? service : twin, tv)),
  );
  assert.deepEqual(tally(answers), { 200: 10, 429: 40 });
  const refused = await askForDevice(service, tv);
  assertError(refused, 429, 'rate_limited');
  assert.ok(refused.headers.get('retry-after'));
  const other = await addApplication(admin, [service], { type: 'device', redirect_uris: [] });
  await begin(service, other);
  await service.sql('update device_requests set denied_at = now() where user_code like $1', ['%B']);
  await begin(service, tv);
});

test('a request is kept for an hour after its end, so that its device learns why', async () => {
  const gone = await begin(
    service,
    await addApplication(admin, [service], { type: 'device', redirect_uris: [] }),
  );
  const end = (userCode: string, minutes: number) =>
    service.sql(
      'update device_requests set expires_at = now() - make_interval(mins => $2) where user_code = $1',
      [userCode.replace('-', ''), minutes],
    );
  const left = async (userCode: string) =>
    (await service.sql('select from device_requests where user_code = $1', [userCode.replace('-', '')]))
      .length;
  await end(gone.user_code, 59);
  await removeSessionRows(service.service.deps);
  assert.equal(await left(gone.user_code), 1);
  await end(gone.user_code, 61);
  await removeSessionRows(service.service.deps);
  assert.equal(await left(gone.user_code), 0);
  assertError(await poll(service, tv, gone), 400, 'invalid_grant');
});

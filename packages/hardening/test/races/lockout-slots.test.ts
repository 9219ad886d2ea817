// The slots that running attempts hold for an email: those of dead processes, and attempts that find none free.
// It must not wait for a lease to end: it takes and releases slots in SQL.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { scenariosOf } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';
import { codesOf, counterOf, logIn } from '@castellan/testing/sessions/attempts';
import { login, openInstances, sendAtOnce, times } from './requests.ts';

const scenario = scenariosOf('races');
const instances = await openInstances({ after });
const { service, twin } = instances;

const holdSlots = (email: string, seconds: number) =>
  service.sql(
    `insert into login_attempts (email, slots)
     select $1, jsonb_object_agg('lost-' || n, extract(epoch from clock_timestamp()) + $2::float8)
     from generate_series(1, 5) n`,
    [email, seconds],
  );

scenario('slots of attempts whose process died stop counting when their lease ends', async (tally) => {
  const user = await addUser(service);
  await holdSlots(user.email, -1);
  const answers = await sendAtOnce(
    instances,
    times(5, () => login(user.email, user.password)),
  );
  tally.tried(5);
  assert.deepEqual(codesOf(answers), { ok: 5 });
  assert.equal((await counterOf(service, user.email)).running, 0);
  tally.held(2);
});

scenario('attempts wait while all slots are taken, and are verified when one is free', async (tally) => {
  const user = await addUser(service);
  await holdSlots(user.email, 30);
  let answered = false;
  const waiting = sendAtOnce(
    instances,
    times(4, () => login(user.email, user.password)),
  ).finally(() => {
    answered = true;
  });
  // Other users sign in meanwhile. An attempt that does not wait for a slot would be answered by then.
  for (let count = 0; count < 4; count += 1) {
    const other = await addUser(service);
    const client = count % 2 ? service.client() : twin.client();
    assert.equal((await logIn(client, other.email, other.password)).status, 200);
  }
  assert.equal(answered, false, 'they did not wait for a slot');
  await service.sql("update login_attempts set slots = '{}' where email = $1", [user.email]);
  assert.deepEqual(codesOf(await waiting), { ok: 4 });
  tally.tried(8);
  tally.held(6);
});

// The slots that attempts under way hold on an address: those of dead processes, and what happens when none is free.
// It must not wait for a lease to end: it gives out and takes back slots in SQL.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { addUser } from '../../sessions/accounts.ts';
import { codesOf, counterOf, logIn } from '../../sessions/attempts.ts';
import { scenariosOf } from '../scenario.ts';
import { fire, login, openRange, times } from './shots.ts';

const scenario = scenariosOf('races');
const range = await openRange({ after });
const { service, twin } = range;

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
  const answers = await fire(
    range,
    times(5, () => login(user.email, user.password)),
  );
  tally.tried(5);
  assert.deepEqual(codesOf(answers), { ok: 5 });
  assert.equal((await counterOf(service, user.email)).running, 0);
  tally.held(2);
});

scenario('attempts wait while others hold every slot, and are verified when one is free', async (tally) => {
  const user = await addUser(service);
  await holdSlots(user.email, 30);
  let answered = false;
  const waiting = fire(
    range,
    times(4, () => login(user.email, user.password)),
  ).finally(() => {
    answered = true;
  });
  // Others sign in meanwhile, one after the other: whoever does not wait is answered by then.
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

// Lists of users by their second factor, and what `include=second_factor` tells.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { plansOf } from '@castellan/testing/plans';
import { type AppUser, addAppUser } from '@castellan/testing/second-factors/app';
import { addPerson } from '@castellan/testing/users/people';
import { addResetUser } from './fixture.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
await service.service.scheduler.stop();

const LIST = '/api/v1/users/list';
const listed = async (query: string) => {
  const answer = await admin.get(`${LIST}?size=100&${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data as {
    total: number;
    items: { id: string; second_factor?: object; activity?: object }[];
  };
};
const idsIn = async (query: string): Promise<string[]> => (await listed(query)).items.map(({ id }) => id);

let appUser: AppUser;
let resetUser: AppUser;
let plain: { id: string };
before(async () => {
  appUser = await addAppUser(service);
  resetUser = (await addResetUser(service, admin)).user;
  plain = await addPerson(service);
});

test('users are found with and without a factor, also together with other filters', async () => {
  assert.deepEqual(await idsIn('second_factor=on'), [appUser.id]);
  const without = await idsIn('second_factor=off');
  assert.ok(without.includes(plain.id) && without.includes(resetUser.id) && !without.includes(appUser.id));
  assert.deepEqual(await idsIn('second_factor=on&is_active=false'), []);
  assert.deepEqual(await idsIn(`second_factor=on&search=${appUser.email}`), [appUser.id]);
  assert.equal((await listed('second_factor=missing')).total, 0);
  const unknown = await admin.get(`${LIST}?second_factor=maybe`);
  assert.equal(unknown.status, 422);
});

test('`missing` finds those whose factors do not reach what their roles ask for, also before the date', async () => {
  const [role] = await service.sql<{ id: string }>(
    "insert into roles (id, name, description, required_acr, enforced_from) values (gen_random_uuid(), 'Strong', '', 'phr', now() + interval '14 days') returning id",
  );
  const holder = await addPerson(service, { roles: [role?.id ?? ''] });
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [appUser.id, role?.id]);
  assert.deepEqual(new Set(await idsIn('second_factor=missing')), new Set([holder.id, appUser.id]));
  const { items } = await listed('include=second_factor&second_factor=missing');
  const states = items.map((item) => item.second_factor as { required_acr: string; met: boolean });
  assert.ok(states.every(({ required_acr, met }) => required_acr === 'phr' && !met));
  await service.sql("update roles set required_acr = 'aal2' where id = $1", [role?.id]);
  assert.deepEqual(await idsIn('second_factor=missing'), [holder.id]);
  await service.sql('delete from user_roles where role_id = $1', [role?.id]);
  await service.sql('delete from roles where id = $1', [role?.id]);
});

test('`include=second_factor` tells what each has, alone or beside the activity', async () => {
  const { items } = await listed('include=second_factor');
  const of = ({ id }: { id: string }) => items.find((item) => item.id === id)?.second_factor;
  const open = { required_acr: null, met: true };
  assert.deepEqual(of(appUser), { on: true, methods: ['totp', 'recovery_code'], ...open });
  assert.deepEqual(of(resetUser), { on: false, methods: ['recovery_link'], ...open });
  assert.deepEqual(of(plain), { on: false, methods: [], ...open });
  assert.ok(items.every(({ activity }) => activity === undefined));

  await service.sql('update totp_factors set suspended_at = now() where user_id = $1', [appUser.id]);
  const both = await listed('include=second_factor&include=activity&second_factor=on');
  assert.deepEqual(both.items[0]?.second_factor, { on: true, methods: ['recovery_code'], ...open });
  assert.notEqual(both.items[0]?.activity, undefined);
  assert.equal((await listed('second_factor=on')).items[0]?.second_factor, undefined);
});

test('few of many are found by the index of their kind, in both directions', async () => {
  await service.sql(
    `insert into users (id, email, first_name, last_name, has_factor, created_at)
     select gen_random_uuid(), 'l' || n || '@example.com', 'List', 'User' || n, n % 2000 = 0,
       now() - make_interval(secs => n) from generate_series(1, 24000) n`,
  );
  const largest = async (query: string): Promise<number> => {
    await service.sql('vacuum analyze users');
    const explained = await plansOf(service, () => admin.get(`${LIST}?size=10&${query}`));
    return Math.max(...explained.flatMap(({ steps }) => steps).map(({ rows }) => rows));
  };
  assert.ok((await largest('second_factor=on')) <= 100);
  assert.ok((await largest('second_factor=on&sort=-email')) <= 100);
  await service.sql(`update users set has_factor = not has_factor where email like 'l%'`);
  assert.ok((await largest('second_factor=off')) <= 100);
  assert.ok((await largest('second_factor=off&sort=-created_at')) <= 100);
  // More than 10,000 match: no more are counted.
  assert.ok((await largest('second_factor=on')) <= 10_100);
  assert.ok((await largest('second_factor=on&sort=last_name')) <= 10_100);
});

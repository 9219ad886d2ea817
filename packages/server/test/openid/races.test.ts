// Exchanges in parallel with each other and with what ends them, on two instances: no token outlives what it came from.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { addRole } from '@castellan/testing/users/people';
import { startWithAdmin } from '../applications/fixture.ts';
import { addApplication, addGrant, addSignedIn, assertDead, exchange, refresh, tokensOf } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const twin = await service.another();
const [permission] = await service.sql<{ id: string }>(
  `select id from permissions where name = 'users.read'`,
);
const web = await addApplication(admin, [service, twin], { required_permission_id: permission?.id });
const role = await addRole(service, 'users.read');
const at = (index: number) => (index % 2 ? service : twin);

test('30 parallel requests get one set of tokens for a code, and after the others came none of it lives', async () => {
  for (let round = 0; round < 5; round += 1) {
    const who = await addSignedIn(service, { roles: [role] });
    const grant = await addGrant(service, web, who);
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => exchange(at(index), web, grant)),
    );
    const issued = answers.filter(({ status }) => status === 200);
    assert.equal(issued.length, 1);
    for (const { body, status } of answers)
      if (status !== 200) assert.deepEqual([status, body.error], [400, 'invalid_grant']);
    for (const { body } of issued) await assertDead(twin, web, body);
  }
});

const ends: Readonly<Record<string, (userId: string, sessionId: string) => Promise<unknown>>> = {
  'sign-out': (_userId, sessionId) =>
    service.sql('update sessions set revoked_at = now() where id = $1', [sessionId]),
  'the end of all sessions': (userId) =>
    service.sql('update users set session_epoch = session_epoch + 1 where id = $1', [userId]),
  deactivation: (userId) => service.sql('update users set is_active = false where id = $1', [userId]),
  'loss of the access rule': (userId) => service.sql('delete from user_roles where user_id = $1', [userId]),
  deletion: async (userId) => {
    await service.sql('delete from user_roles where user_id = $1', [userId]);
    await service.sql('delete from users where id = $1', [userId]);
  },
};

for (const [what, end] of Object.entries(ends))
  test(`50 parallel exchanges and refreshes during ${what} leave no live token`, async () => {
    const who = await addSignedIn(service, { roles: [role] });
    const grants = [];
    for (let made = 0; made < 25; made += 1) grants.push(await addGrant(service, web, who));
    const refreshed = [];
    for (let made = 0; made < 25; made += 1) refreshed.push(await tokensOf(service, web, who));
    const running = [
      ...grants.map((grant, index) => exchange(at(index), web, grant)),
      ...refreshed.map(({ refresh_token }, index) => refresh(at(index), web, refresh_token)),
    ];
    await Promise.race(running);
    await end(who.person.id, who.sessionId);
    const answers = await Promise.all(running);
    assert.ok(answers.some(({ status }) => status === 200));
    for (const { status, text } of answers) assert.ok(status === 200 || status === 400, text);
    for (const tokens of [...refreshed, ...answers.map(({ body }) => body)])
      await assertDead(service, web, {
        access_token: tokens.access_token,
        refresh_token: tokens.refresh_token,
      });
  });

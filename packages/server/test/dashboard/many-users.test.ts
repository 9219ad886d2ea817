// The dashboard with 40,000 users: its cost must not grow with their number.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { plansOf } from '@castellan/testing/plans';
import { countLiveSessions } from '../../src/modules/sessions/live-count-store.ts';
import { renewUserMarks } from '../../src/modules/users/lists/page-marks.ts';
import { renewRoleHolders } from '../../src/modules/users/role-holders-store.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
// The tests renew what the jobs would renew at any moment.
await service.service.scheduler.stop();
const USERS = 40_000;

test('no table that grows with the users is read as a whole, and no step reads more than a few rows', async (t) => {
  // Irrelevant for the dashboard, and slow to fill.
  await service.sql('drop index users_search_text_idx, users_short_parts_idx');
  await service.sql(
    `insert into users (id, email, first_name, last_name, is_active, verified, created_at)
     select gen_random_uuid(), 'many-' || n || '@example.com', 'Many', 'User', n % 10 > 0, n % 7 > 0,
       now() - make_interval(secs => n) from generate_series(1, $1::integer) n`,
    [USERS],
  );
  await service.sql(`
    insert into last_logins select id, created_at + interval '1 millisecond' from users on conflict do nothing`);
  await service.sql(`
    insert into login_attempts (email, failures) select email, 1 from users where email like '%0@example.com'
    on conflict do nothing`);
  await service.sql(`
    insert into user_roles (user_id, role_id)
    select u.id, r.id from users u, roles r where r.name = 'User' and u.email like '%5@example.com'`);
  await service.sql(
    `insert into sessions (id, user_id, expires_at) select gen_random_uuid(), id, now() + random() * interval '7 days'
     from users where email like '%3@example.com'`,
  );
  await countLiveSessions(service.service.deps.db);
  await renewUserMarks(service.service.deps.db);
  await service.sql('analyze');

  const explained = await plansOf(service, () => admin.get('/api/v1/dashboard'));
  assert.ok(explained.length >= 3);
  for (const { text, steps } of explained)
    for (const { node, table, rows } of steps) {
      const where = `${node} ${table ?? ''}: ${rows}\n${text}`;
      if (['users', 'last_logins', 'login_attempts', 'user_roles', 'sessions'].includes(table ?? ''))
        assert.notEqual(node, 'Seq Scan', where);
      // Up to 10,000 live sessions are counted.
      assert.ok(rows <= (/live_sessions|active_sessions/.test(text) ? 4_100 : 200), where);
    }

  await renewRoleHolders(service.service.deps.db);
  const attention = (await plansOf(service, () => admin.get('/api/v1/dashboard/attention'))).filter(
    ({ text }) => /role_holder_changes/.test(text),
  );
  assert.equal(attention.length, 1);
  for (const { node, table, rows } of attention.flatMap(({ steps }) => steps)) {
    const where = `${node} ${table ?? ''}: ${rows}`;
    if (['users', 'user_roles'].includes(table ?? '')) assert.notEqual(node, 'Seq Scan', where);
    assert.ok(rows <= 200, where);
  }

  const { body } = await admin.get('/api/v1/dashboard');
  assert.equal(body.data.stats.total_users, USERS + 1);
  const started = performance.now();
  for (let asked = 0; asked < 50; asked += 1) await admin.get('/api/v1/dashboard');
  t.diagnostic(`${((performance.now() - started) / 50).toFixed(1)} ms a request, one after the other`);
});

test('the few who lack a required factor are found by an index', async () => {
  await service.sql(`update roles set required_acr = 'aal2', enforced_from = now() where name = 'User'`);
  await service.sql(`update users set has_factor = true where email not like '%15@example.com'`);
  await service.sql('vacuum analyze users');
  const { body } = await admin.get('/api/v1/dashboard/attention');
  const item = body.data.items.find(({ code }: { code: string }) => code === 'users_without_required_factor');
  assert.equal(item.count, USERS / 100);
  const explained = await plansOf(service, () => admin.get('/api/v1/dashboard/attention'));
  const counting = explained.filter(({ text }) => /lacking/.test(text)).flatMap(({ steps }) => steps);
  const ofUsers = counting.filter(({ table }) => table === 'users');
  assert.ok(ofUsers.length > 0);
  for (const { node, rows } of ofUsers) assert.ok(rows <= 500, `${node}: ${rows}`);
});

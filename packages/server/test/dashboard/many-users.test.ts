// The dashboard with 200,000 users: its cost must not grow with their number.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import type { PoolClient } from 'pg';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const USERS = 200_000;

type Sent = { text: string; values?: unknown[] };

/** Returns the statements that a GET request of this path sends to the database. */
async function statementsOf(path: string): Promise<Sent[]> {
  const { pool } = service.service.deps;
  const sent: Sent[] = [];
  const watched = new Map<PoolClient, PoolClient['query']>();
  const watch = (client: PoolClient): void => {
    if (watched.has(client)) return;
    const send = client.query;
    watched.set(client, send);
    client.query = ((...args: Parameters<typeof send>) => {
      const [first, values] = args as unknown as [string | Sent, unknown[]?];
      sent.push(typeof first === 'string' ? { text: first, ...(values ? { values } : {}) } : first);
      return send.apply(client, args);
    }) as typeof send;
  };
  pool.on('acquire', watch);
  try {
    assert.equal((await admin.get(path)).status, 200);
  } finally {
    pool.off('acquire', watch);
    for (const [client, send] of watched) client.query = send;
  }
  return sent;
}

type Plan = {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  Plans?: Plan[];
};
const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

test('no table that grows with the users is read as a whole, and no step reads more than a few rows', async (t) => {
  // Irrelevant for the dashboard, and slow to fill.
  await service.sql('drop index if exists users_search_idx');
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
  await service.sql('analyze');

  const sent = (await statementsOf('/api/v1/dashboard')).filter(({ text }) => /^\s*select/i.test(text));
  assert.ok(sent.length >= 3);
  for (const { text, values } of sent) {
    const [row] = await service.sql<{ 'QUERY PLAN': { Plan: Plan; 'Execution Time': number }[] }>(
      `explain (analyze, format json) ${text}`,
      values ?? [],
    );
    const [explained] = row?.['QUERY PLAN'] ?? [];
    assert.ok(explained);
    t.diagnostic(`${explained['Execution Time']} ms: ${text.trim().slice(0, 60).replaceAll(/\s+/g, ' ')}`);
    for (const node of nodesOf(explained.Plan)) {
      const where = `${node['Node Type']} ${node['Relation Name'] ?? ''}`;
      if (['users', 'last_logins', 'login_attempts', 'user_roles'].includes(node['Relation Name'] ?? ''))
        assert.notEqual(node['Node Type'], 'Seq Scan', `${where}\n${text}`);
      assert.ok(
        node['Actual Rows'] * node['Actual Loops'] <= 200,
        `${where}: ${node['Actual Rows']}\n${text}`,
      );
    }
  }

  const { body } = await admin.get('/api/v1/dashboard');
  assert.equal(body.data.stats.total_users, USERS + 1);
  const started = performance.now();
  for (let asked = 0; asked < 50; asked += 1) await admin.get('/api/v1/dashboard');
  t.diagnostic(`${((performance.now() - started) / 50).toFixed(1)} ms a request, one after the other`);
});

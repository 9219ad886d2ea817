// The statements of checks, which come with every request of other services, are planned a few times on each connection.
// Planning one takes PostgreSQL several times as long as running it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { clientToken, postForm } from '@castellan/testing/service-accounts/token-services';
import type { Pool } from 'pg';

const service = await startTestService({ after }, { DATABASE_POOL_SIZE: '4', CONCURRENT_SESSION_LIMIT: '0' });
const admin = await signIn(service, ADMIN);
const account = await addServiceAccount(service, { permissions: ['token.introspect', 'authz.evaluate'] });
const asAccount = { authorization: `Bearer ${account.key}` };

// PostgreSQL plans a statement for its values five times, and then compares what these plans cost with a generic one.
const MOST_PLANNED = 5;

/** What looks up the caller or the subject of each kind of check. */
const lookUps = ['live-access-tokens', 'api-keys-by-hash', 'live-client-tokens', 'subjects-by-reference'];

type Prepared = { name: string; statement: string; generic: number; custom: number };
async function preparedOn(pool: Pool): Promise<Prepared[]> {
  const connections = await Promise.all(Array.from({ length: pool.idleCount }, () => pool.connect()));
  const found = await Promise.all(
    connections.map((connection) =>
      connection.query<Prepared>(`
        select name, statement, generic_plans::integer as generic, custom_plans::integer as custom from pg_prepared_statements`),
    ),
  );
  for (const connection of connections) connection.release();
  return found.flatMap(({ rows }) => rows);
}

test('whatever the number of keys at once', async () => {
  const { id } = (await admin.get('/api/v1/users/me')).body.data;
  const evaluation = {
    subject: { type: 'user', id },
    action: { name: 'read' },
    resource: { type: 'user', id },
  };
  const token = await clientToken(service, account);
  const checks: (() => Promise<{ status: number; text: string }>)[] = [
    () => admin.get('/api/v1/users/me'),
    () => admin.post('/api/v1/access/v1/evaluation', evaluation),
    () => admin.post('/api/v1/access/v1/evaluations', { evaluations: [evaluation, evaluation] }),
    () => postForm(service, 'introspect', { token }, asAccount),
    () => postForm(service, 'introspect', { token: admin.accessToken ?? '' }, asAccount),
  ];
  for (const check of checks)
    for (const atOnce of [1, 1, 1, 1, 1, 1, 1, 1, 6, 6, 6, 6, 6, 6, 6, 6])
      for (const { status, text } of await Promise.all(Array.from({ length: atOnce }, check)))
        assert.equal(status, 200, text);
  const { pool, reservedPool } = service.service.deps;
  const statements = [...(await preparedOn(pool)), ...(await preparedOn(reservedPool))];
  const frequent = statements.filter(({ generic, custom }) => generic + custom > 2 * MOST_PLANNED);
  for (const name of lookUps)
    assert.ok(
      frequent.some((one) => one.name === name),
      `${name} runs often`,
    );
  for (const { statement, custom } of frequent)
    assert.ok(custom <= MOST_PLANNED, `${custom} times: ${statement}`);
});

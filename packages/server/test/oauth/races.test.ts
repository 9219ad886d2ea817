// Revocations while requests are in progress: nothing that begins after the commit succeeds, and no token outlives it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { eventually, signIn, startTestService, type TestService } from '@castellan/testing/harness';
import {
  addApiKey,
  addServiceAccount,
  type TestServiceAccount,
} from '@castellan/testing/service-accounts/accounts';
import { basicOf, clientToken, postForm } from '@castellan/testing/service-accounts/token-services';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { addPerson } from '@castellan/testing/users/people';
import pg from 'pg';

const service = await startTestService({ after }, { TRUSTED_PROXIES: '127.0.0.1' });
const twin = await service.another();
const caller = await addServiceAccount(service, { permissions: ['token.introspect'] });
const INACTIVE = '{"active":false}';

let networks = 0;
/** Every request comes from a network of its own, so that no refusal is one of the limit on wrong keys. */
const elsewhere = (): Record<string, string> => {
  networks += 1;
  return { 'x-forwarded-for': `10.${networks >> 8}.${networks & 255}.1` };
};

const getToken = (at: TestService, { id, key }: TestServiceAccount): Promise<Answer> =>
  postForm(at, 'token', { grant_type: 'client_credentials' }, { ...basicOf(id, key), ...elsewhere() });
const introspect = (at: TestService, token: string): Promise<Answer> =>
  postForm(at, 'introspect', { token }, { ...basicOf(caller.id, caller.key), ...elsewhere() });

/** Starts 50 requests for tokens and 50 introspections, of the key and of a token, on both instances. */
function start(
  account: TestServiceAccount,
  token: string,
): { tokens: Promise<Answer[]>; others: Promise<Answer[]> } {
  const each = <T>(send: (at: TestService, index: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: 50 }, (_, index) => send(index % 2 ? service : twin, index)));
  return {
    tokens: each((at) => getToken(at, account)),
    others: each((at, index) => introspect(at, index % 4 < 2 ? account.key : token)),
  };
}

async function assertNothingLives(account: TestServiceAccount, token: string): Promise<void> {
  const { tokens, others } = start(account, token);
  for (const { status, body } of await tokens)
    assert.deepEqual([status, body.error], [401, 'invalid_client']);
  for (const { status, text } of await others) assert.deepEqual([status, text], [200, INACTIVE]);
}

const ends: Record<string, string> = {
  'revoking a key': 'update api_keys set revoked_at = now() where id = $1 and service_account_id = $2',
  'the end of a rotation': 'update api_keys set expires_at = now() where id = $1 and service_account_id = $2',
  'deactivating an account':
    'update service_accounts set is_active = false where id = $2 and $1::uuid is not null',
  'deleting an account': 'delete from service_accounts where id = $2 and $1::uuid is not null',
};

for (const [what, statement] of Object.entries(ends))
  test(`${what} ends every token and every introspection that begins after it, at every instance`, async () => {
    const account = await addServiceAccount(service);
    const token = await clientToken(service, account);
    const early = start(account, token);
    await Promise.race([early.tokens, early.others, getToken(twin, account)]);
    await service.sql(statement, [account.keyId, account.id]);
    await assertNothingLives(account, token);
    const issued = (await early.tokens).flatMap(({ body }) => body.access_token ?? []);
    assert.ok(issued.length > 0);
    await early.others;
    await service.sql('update service_accounts set is_active = true where id = $1', [account.id]);
    for (const one of [token, ...issued])
      for (const at of [service, twin]) assert.equal((await introspect(at, one)).text, INACTIVE);
  });

test('a request whose key ends after it was read, and before the token is written, gets no token', async () => {
  const account = await addServiceAccount(service);
  await clientToken(service, account);
  const spare = await addApiKey(service, account.id);
  const [before] = await service.sql('select count(*) from client_tokens');
  for (const change of [
    'update api_keys set revoked_at = now() where id = $1',
    'update service_accounts set is_active = false where id = (select service_account_id from api_keys where id = $1)',
  ]) {
    const { key, keyId } = change.includes('revoked_at') ? account : spare;
    const holder = new pg.Client(service.databaseUrl);
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query('lock table client_tokens in access exclusive mode');
      const running = getToken(service, { ...account, key });
      await eventually(async () => {
        const waiting = await service.sql(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return waiting.length > 0 || undefined;
      }, 'a token that waits to be written');
      await service.sql(change, [keyId]);
      await holder.query('commit');
      const answer = await running;
      assert.deepEqual([answer.status, answer.body.error], [401, 'invalid_client'], answer.text);
    } finally {
      await holder.end();
    }
  }
  assert.deepEqual(await service.sql('select count(*) from client_tokens'), [before]);
});

test('of parallel revocations of one session one is recorded, and the session ends once', async () => {
  const client = await signIn(service, await addPerson(service));
  const refresh = client.refreshToken ?? '';
  const { sid } = readToken(refresh).claims;
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      postForm(index % 2 ? service : twin, 'revoke', { token: refresh }),
    ),
  );
  for (const { status, text } of answers) assert.deepEqual([status, text], [200, '']);
  const events = await service.sql(
    `select from audit_logs where action = 'logout' and details->>'session_id' = $1`,
    [sid],
  );
  assert.equal(events.length, 1);
});

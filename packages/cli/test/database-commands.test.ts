import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { KEY_DELAY_SECONDS } from '@castellan/server/modules/sessions/key-ring';
import pg from 'pg';
import { createClient } from '../../server/test/client.ts';
import {
  createVerifiedUser,
  newEmail,
  PASSWORD,
  startTestService,
  TEST_SECRET_KEY,
  type TestService,
} from '../../server/test/harness.ts';
import { urlOfDatabase } from '../../server/test/scratch-database.ts';
import { castellan } from './castellan.ts';

/** Not even a table in it. */
async function createEmptyDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `cli_${randomBytes(6).toString('hex')}`;
  const url = urlOfDatabase(name);
  const admin = urlOfDatabase('postgres');
  await run(admin, `create database ${name}`);
  return { url, drop: () => run(admin, `drop database if exists ${name}`) };
}

async function run(url: string, statement: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

const cleanups: (() => Promise<void>)[] = [];
let service: TestService;
let environment: Record<string, string>;

before(async () => {
  service = await startTestService({ after: (hook) => void cleanups.push(hook as () => Promise<void>) });
  environment = { DATABASE_URL: service.databaseUrl, SECRET_KEY: TEST_SECRET_KEY };
});
after(async () => {
  for (const cleanup of cleanups) await cleanup();
});

const eventsOf = (action: string, resourceId: string) =>
  service.sql<{ actor_id: string | null; details: Record<string, unknown> }>(
    'select actor_id, details from audit_logs where action = $1 and resource_id = $2',
    [action, resourceId],
  );

async function signIn(user: { email: string; password: string }, url = service.url) {
  const client = createClient(url);
  const answer = await client.login(user);
  return { client, answer, keyId: answer.status === 200 ? keyIdOf(client.accessToken as string) : null };
}

const keyIdOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[0] as string, 'base64url').toString()).kid;

const newUser = (email: string): string[] => [
  '--email',
  email,
  '--first-name',
  'Ada',
  '--last-name',
  'Byron',
];

describe('migrate', () => {
  test('prepares an empty database and shows the made password once; again it changes nothing', async (t) => {
    const { url, drop } = await createEmptyDatabase();
    t.after(drop);
    const own = { ...environment, DATABASE_URL: url, FIRST_SUPERUSER_EMAIL: 'first@example.com' };
    const early = await castellan(['rotate-keys'], own);
    assert.equal(early.code, 1);
    assert.match(early.err, /^castellan: PostgreSQL at .+ is not prepared yet: run `castellan migrate`.+\n$/);

    const first = await castellan(['migrate'], own);
    assert.deepEqual([first.code, first.err], [0, '']);
    assert.match(
      first.out,
      /Migrated: 0001-accounts, .+\nSuperuser first@example\.com made\.\nPassword \S{20,} /,
    );
    const second = await castellan(['migrate'], own);
    assert.deepEqual([second.code, second.err], [0, '']);
    assert.match(second.out, /^PostgreSQL at .+\nThe schema is up to date\.\n$/);
    assert.equal((await castellan(['rotate-keys'], own)).code, 0);
  });
});

describe('create-superuser', () => {
  test('the account can sign in at a running service, at once, and may do everything', async () => {
    const email = newEmail('Super').toUpperCase();
    const { code, out, err } = await castellan(
      ['create-superuser', ...newUser(email)],
      environment,
      `${PASSWORD}\n`,
    );
    assert.deepEqual([code, out, err], [0, `Superuser ${email.toLowerCase()} made.\n`, '']);
    const { client, answer } = await signIn({ email, password: PASSWORD });
    assert.equal(answer.status, 200);
    const { data } = (await client.get('/api/v1/users/me')).body;
    assert.equal(data.is_superuser, true);
    assert.equal(data.first_name, 'Ada');
    assert.deepEqual(
      data.roles.map((role: { name: string }) => role.name),
      ['Admin'],
    );
    const [event] = await eventsOf('user_created', data.id);
    assert.equal(event?.actor_id, null);
    assert.equal(event?.details.via, 'command_line');
  });

  test('a password that breaks the policy is refused with every reason, and no account is made', async () => {
    const email = newEmail();
    const { code, err } = await castellan(['create-superuser', ...newUser(email)], environment, 'weak');
    assert.equal(code, 1);
    assert.match(err, /^castellan: The password .+\n {2}- Use at least 12 characters\.\n {2}- /);
    assert.ok(!err.includes('weak'));
    assert.deepEqual(await service.sql('select id from users where email = $1', [email]), []);
  });

  test('an address that has an account is refused, and its account stays as it was', async () => {
    const user = await createVerifiedUser(service);
    const before = await service.sql('select * from users where id = $1', [user.id]);
    const args = ['create-superuser', ...newUser(user.email)];
    const { code, err } = await castellan(args, environment, 'Vexing#Quartz82Lime');
    assert.equal(code, 1);
    assert.equal(
      err,
      `castellan: ${user.email} has an account already. Make that one a superuser with --promote.\n`,
    );
    assert.deepEqual(await service.sql('select * from users where id = $1', [user.id]), before);
  });

  test('--promote makes an existing account a superuser and keeps its password', async () => {
    const user = await createVerifiedUser(service);
    await service.sql('update users set is_active = false where id = $1', [user.id]);
    const args = ['create-superuser', '--email', user.email, '--promote'];
    assert.deepEqual(await castellan(args, environment), {
      code: 0,
      out: `${user.email} is a superuser now.\n`,
      err: '',
    });
    const { client } = await signIn(user);
    assert.equal((await client.get('/api/v1/users/me')).body.data.is_superuser, true);
    const [event] = await eventsOf('user_updated', user.id);
    assert.deepEqual(event?.details.before, { is_superuser: false, is_active: false, verified: true });

    assert.equal((await castellan(args, environment)).out, `${user.email} is a superuser already.\n`);
    assert.equal((await eventsOf('user_updated', user.id)).length, 1);
  });

  test('--promote of an address without an account makes none', async () => {
    const email = newEmail();
    const { code, err } = await castellan(['create-superuser', '--email', email, '--promote'], environment);
    assert.equal(code, 1);
    assert.match(err, new RegExp(`^castellan: ${email} has no account\\. .+\n$`));
    assert.deepEqual(await service.sql('select id from users where email = $1', [email]), []);
  });
});

describe('rotate-keys', () => {
  test('a new key is published before it signs, signs when every cache has it, and old tokens stay good', async () => {
    const user = await createVerifiedUser(service);
    const { client, keyId: oldKeyId } = await signIn(user);
    const { code, out } = await castellan(['rotate-keys'], environment);
    assert.equal(code, 0);
    const [, newKeyId, signsFrom] = /^Key (\S+) signs from (\S+)\.\n$/.exec(out) ?? [];
    const [row] = await service.sql<{ seconds: number }>(
      'select extract(epoch from signs_from - created_at)::int as seconds from signing_keys where key_id = $1',
      [newKeyId],
    );
    assert.equal(row?.seconds, KEY_DELAY_SECONDS);

    const another = await service.another();
    const published = (await another.client().get('/.well-known/jwks.json')).body;
    const keyIds = published.keys.map((key: { kid: string }) => key.kid);
    assert.ok(keyIds.includes(newKeyId) && keyIds.includes(oldKeyId));
    assert.equal((await signIn(user, another.url)).keyId, oldKeyId);
    assert.equal((await client.at(another.url).get('/api/v1/users/me')).status, 200);
    const [event] = await eventsOf('signing_key_rotated', newKeyId as string);
    assert.deepEqual(event?.details, { signs_from: signsFrom, via: 'command_line' });
  });

  test('--now: the new key signs at once, and a token of the old one is good', async () => {
    const user = await createVerifiedUser(service);
    const { client } = await signIn(user);
    const { code, out } = await castellan(['rotate-keys', '--now'], environment);
    assert.equal(code, 0);
    const another = await service.another();
    assert.equal((await signIn(user, another.url)).keyId, /^Key (\S+) /.exec(out)?.[1]);
    assert.equal((await client.at(another.url).get('/api/v1/users/me')).status, 200);
  });

  test('with another SECRET_KEY than the service has, nothing is made', async () => {
    const before = await service.sql('select key_id from signing_keys order by key_id');
    const { code, err } = await castellan(['rotate-keys'], { ...environment, SECRET_KEY: 'x'.repeat(32) });
    assert.equal(code, 1);
    assert.match(err, /^castellan: .*SECRET_KEY.*\n$/);
    assert.deepEqual(await service.sql('select key_id from signing_keys order by key_id'), before);
  });
});

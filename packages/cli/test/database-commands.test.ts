import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { KEY_SPREAD_SECONDS } from '@castellan/server/modules/sessions/keys/ring';
import { createClient } from '@castellan/testing/client';
import {
  ADMIN,
  createVerifiedUser,
  eventually,
  newEmail,
  PASSWORD,
  startTestService,
  TEST_SECRET_KEY,
  type TestService,
} from '@castellan/testing/harness';
import { castellan } from './castellan.ts';
import { createEmptyDatabase, migrateUpTo, run } from './databases.ts';

/** Makes an empty database one of the version before this migration, with a signing key of the service. */
async function makeEarlierVersion(url: string, before: string): Promise<void> {
  const [key] = await service.sql<{ key_id: string; public_jwk: object; private_key_sealed: Buffer }>(
    'select key_id, public_jwk, private_key_sealed from signing_keys',
  );
  assert.ok(key);
  await migrateUpTo(url, before);
  await run(url, 'insert into signing_keys (key_id, public_jwk, private_key_sealed) values ($1, $2, $3)', [
    key.key_id,
    key.public_jwk,
    key.private_key_sealed,
  ]);
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
  test('prepares an empty database and stores the new password in a file; a second run changes nothing', async (t) => {
    const { url, drop } = await createEmptyDatabase();
    t.after(drop);
    const folder = await mkdtemp(join(tmpdir(), 'castellan-migrate-'));
    t.after(() => rm(folder, { recursive: true }));
    const own = {
      ...environment,
      DATA_DIR: folder,
      DATABASE_URL: url,
      FIRST_SUPERUSER_EMAIL: 'first@example.com',
    };
    const early = await castellan(['rotate-keys'], own);
    assert.equal(early.code, 1);
    assert.match(early.err, /^castellan: PostgreSQL at .+ is not prepared yet: run `castellan migrate`.+\n$/);

    const first = await castellan(['migrate'], own);
    assert.deepEqual([first.code, first.err], [0, '']);
    assert.match(
      first.out,
      /Migrated: 0001-accounts, .+\nSuperuser first@example\.com created\.\nThe password .+ is in \S+first-superuser-password\. /,
    );
    const kept = join(folder, 'first-superuser-password');
    assert.match(await readFile(kept, 'utf8'), /^\S{20,}\n$/);
    assert.equal((await stat(kept)).mode & 0o777, 0o600);
    const second = await castellan(['migrate'], own);
    assert.deepEqual([second.code, second.err], [0, '']);
    assert.match(second.out, /^PostgreSQL at .+\nThe schema is up to date\.\n$/);
    assert.equal((await castellan(['rotate-keys'], own)).code, 0);
    await run(url, 'delete from signing_keys');
    const restored = await castellan(['rotate-keys'], own);
    assert.equal(restored.code, 1);
    assert.match(restored.err, / has no signing key, as after a restore: run `castellan migrate`, or start/);
    assert.equal((await castellan(['migrate'], own)).code, 0);
    assert.equal((await castellan(['rotate-keys'], own)).code, 0);
  });
});

describe('create-superuser', () => {
  test('the new superuser can sign in to a running service at once', async () => {
    const email = newEmail('Super').toUpperCase();
    const { code, out, err } = await castellan(
      ['create-superuser', ...newUser(email)],
      environment,
      `${PASSWORD}\n`,
    );
    assert.deepEqual([code, out, err], [0, `Superuser ${email.toLowerCase()} created.\n`, '']);
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

  test('a password that breaks the policy is rejected with every reason, and no account is created', async () => {
    const email = newEmail();
    const { code, err } = await castellan(['create-superuser', ...newUser(email)], environment, 'weak');
    assert.equal(code, 1);
    assert.match(err, /^castellan: The password .+\n {2}- Use at least 12 characters\.\n {2}- /);
    assert.ok(!err.includes('weak'));
    assert.deepEqual(await service.sql('select id from users where email = $1', [email]), []);
  });

  test('an email that has an account is refused, and the account does not change', async () => {
    const user = await createVerifiedUser(service);
    const before = await service.sql('select * from users where id = $1', [user.id]);
    const args = ['create-superuser', ...newUser(user.email)];
    const { code, err } = await castellan(args, environment, 'Vexing#Quartz82Lime');
    assert.equal(code, 1);
    assert.equal(
      err,
      `castellan: ${user.email} already has an account. Make it a superuser with --promote.\n`,
    );
    assert.deepEqual(await service.sql('select * from users where id = $1', [user.id]), before);
  });

  test('--promote makes an existing account a superuser and keeps its password', async () => {
    const user = await createVerifiedUser(service);
    await service.sql('update users set is_active = false where id = $1', [user.id]);
    const args = ['create-superuser', '--email', user.email, '--promote'];
    assert.deepEqual(await castellan(args, environment), {
      code: 0,
      out: `${user.email} is now a superuser.\n`,
      err: '',
    });
    const { client } = await signIn(user);
    assert.equal((await client.get('/api/v1/users/me')).body.data.is_superuser, true);
    const [event] = await eventsOf('user_updated', user.id);
    assert.deepEqual(event?.details.before, { is_superuser: false, is_active: false, verified: true });

    assert.equal((await castellan(args, environment)).out, `${user.email} is already a superuser.\n`);
    assert.equal((await eventsOf('user_updated', user.id)).length, 1);
  });

  test('--promote of an email without an account creates none', async () => {
    const email = newEmail();
    const { code, err } = await castellan(['create-superuser', '--email', email, '--promote'], environment);
    assert.equal(code, 1);
    assert.match(err, new RegExp(`^castellan: ${email} has no account\\. .+\n$`));
    assert.deepEqual(await service.sql('select id from users where email = $1', [email]), []);
  });
});

describe('rotate-keys', () => {
  test('a new key is published before it signs, signs when every cache has it, and old tokens stay valid', async () => {
    const user = await createVerifiedUser(service);
    const { client, keyId: oldKeyId } = await signIn(user);
    const { code, out } = await castellan(['rotate-keys'], environment);
    assert.equal(code, 0);
    const [, newKeyId, signsFrom] =
      /^Key (\S+) is announced in the key set, and signs from (\S+) \(in 30 minutes, KEY_ANNOUNCE_MINUTES\)\.\n$/.exec(
        out,
      ) ?? [];
    const [row] = await service.sql<{ seconds: number }>(
      'select extract(epoch from signs_from - created_at)::int as seconds from signing_keys where key_id = $1',
      [newKeyId],
    );
    assert.equal(row?.seconds, 1_800);

    const longer = await castellan(['rotate-keys'], { ...environment, KEY_ANNOUNCE_MINUTES: '90' });
    assert.match(longer.out, /\(in 90 minutes, KEY_ANNOUNCE_MINUTES\)/);

    const another = await service.another();
    const published = (await another.client().get('/.well-known/jwks.json')).body;
    const keyIds = published.keys.map((key: { kid: string }) => key.kid);
    assert.ok(keyIds.includes(newKeyId) && keyIds.includes(oldKeyId));
    assert.equal((await signIn(user, another.url)).keyId, oldKeyId);
    assert.equal((await client.at(another.url).get('/api/v1/users/me')).status, 200);
    const [event] = await eventsOf('signing_key_rotated', newKeyId as string);
    assert.deepEqual(event?.details, {
      purpose: 'session',
      alg: 'EdDSA',
      signs_from: signsFrom,
      via: 'command_line',
    });
  });

  test('--now: the new key signs when every instance has it, a pending one is dropped, and old tokens stay valid', async () => {
    const user = await createVerifiedUser(service);
    const { client } = await signIn(user);
    const pending = /^Key (\S+) /.exec((await castellan(['rotate-keys'], environment)).out)?.[1] as string;
    const { code, out } = await castellan(['rotate-keys', '--now'], environment);
    assert.equal(code, 0);
    const [, keyId] =
      /^Key (\S+) signs in 5 seconds, .+\nVerifiers with a copy of the key set refuse its tokens until .+\nDropped .+: .+\.\n$/.exec(
        out,
      ) ?? [];
    assert.ok(out.includes(pending), out);
    const [row] = await service.sql<{ seconds: number }>(
      'select extract(epoch from signs_from - created_at)::int as seconds from signing_keys where key_id = $1',
      [keyId],
    );
    assert.equal(row?.seconds, KEY_SPREAD_SECONDS);
    await service.sql('update signing_keys set signs_from = now() where key_id = $1', [keyId]);
    const another = await service.another();
    assert.equal((await signIn(user, another.url)).keyId, keyId);
    assert.equal((await client.at(another.url).get('/api/v1/users/me')).status, 200);
    assert.deepEqual(await service.sql('select from signing_keys where key_id = $1', [pending]), []);
  });

  test('--for applications: both keys are announced for a day, once there are any', async (t) => {
    const own = await startTestService(t);
    const where = { ...environment, DATABASE_URL: own.databaseUrl };
    const early = await castellan(['rotate-keys', '--for', 'applications'], where);
    assert.deepEqual([early.code, early.out], [1, '']);
    assert.match(early.err, /no keys for applications yet/);
    const { client } = await signIn(ADMIN, own.url);
    const made = await client.post('/api/v1/applications', { client_id: 'one', name: 'One' });
    assert.equal(made.status, 201, made.text);
    const { code, out } = await castellan(['rotate-keys', '--for', 'applications'], where);
    assert.equal(code, 0);
    const announced = (alg: string) =>
      `Key (\\S+) \\(for applications, ${alg}\\) is announced in the key set, and signs from \\S+ \\(in a day\\)\\.\\n`;
    assert.match(out, new RegExp(`^${announced('RS256')}${announced('ES256')}$`));
    const rows = await own.sql<{ alg: string; hours: number }>(
      `select alg, round(extract(epoch from signs_from - created_at) / 3600)::int as hours from application_keys
       order by alg, hours`,
    );
    assert.deepEqual(
      rows.map(({ alg, hours }) => [alg, hours]),
      [
        ['ES256', 0],
        ['ES256', 24],
        ['RS256', 0],
        ['RS256', 24],
      ],
    );
    const both = await castellan(['rotate-keys', '--for', 'applications', '--revoke', 'x', '--yes'], where);
    assert.equal(both.code, 2);
    const [signing] = await own.sql<{ key_id: string }>(
      `select key_id from application_keys where alg = 'RS256' order by signs_from limit 1`,
    );
    const kid = signing?.key_id as string;
    const asked = await castellan(['rotate-keys', '--revoke', kid], where);
    assert.match(
      asked.err,
      /^castellan: Key \S+ \(for applications, RS256\) signs now\. .+ at once\. A new key/,
    );
    const revoked = await castellan(['rotate-keys', '--revoke', kid, '--yes'], where);
    assert.match(
      revoked.out,
      /^Key \S+ is revoked: .+\nKey \S+ signs instead\.\nWithin 5 seconds .+ restart them .+\.\n$/,
    );
    const soon = await castellan(['rotate-keys', '--for', 'applications', '--now'], where);
    assert.match(
      soon.out,
      /^Key \S+ \(for applications, RS256\) signs in 5 seconds.+\n.+\nDropped before they signed anything: \S+\.\n/,
    );
    const reset = await castellan(['reset-keys', '--yes'], where);
    assert.equal(reset.code, 0, reset.err);
    const left = await own.sql<{ alg: string }>(
      'select alg from signing_keys union all select alg from application_keys order by alg',
    );
    assert.deepEqual(
      left.map(({ alg }) => alg),
      ['ES256', 'EdDSA', 'RS256'],
    );
  });

  test('--revoke: the documented steps for a leaked key work as written', async (t) => {
    const own = await startTestService(t);
    const user = await createVerifiedUser(own);
    const before = await signIn(user, own.url);
    const leaked = before.keyId as string;
    const text = await readFile(new URL('../../../docs/operate/secrets.md', import.meta.url), 'utf8');
    const section = text.slice(text.indexOf('## Revoke a leaked signing key'));
    const [, lines = ''] = /```sh\n(.+?)```/s.exec(section) ?? [];
    const [look, ...commands] = lines.trim().split('\n');
    const [, path = ''] = /^curl http:\/\/localhost:8000(\S+)$/.exec(look ?? '') ?? [];
    const listed = (await own.client().get(path)).body.keys.map(({ kid }: { kid: string }) => kid);
    assert.deepEqual(listed, [leaked]);
    assert.equal(commands.length, 1);
    for (const command of commands) {
      const [, args = ''] = /^castellan (.+)$/.exec(command) ?? [];
      const { code, out, err } = await castellan(args.replace('<kid>', leaked).split(' '), {
        ...environment,
        DATABASE_URL: own.databaseUrl,
      });
      assert.deepEqual([code, err], [0, '']);
      assert.match(
        out,
        /^Key (\S+) is revoked: .+\nKey \S+ signs instead\.\nWithin 5 seconds .+ 60 seconds longer, other verifiers as long as they keep .+\.\nSessions ended: 1\.\n$/,
      );
    }
    assert.equal((await before.client.get('/api/v1/users/me')).status, 401);
    assert.equal(
      (await before.client.post('/api/v1/auth/refresh', { refresh_token: before.client.refreshToken }))
        .status,
      401,
    );
    // The command has waited until every instance knows about the revocation.
    const published = (await own.client().get(path)).body.keys.map(({ kid }: { kid: string }) => kid);
    assert.ok(!published.includes(leaked) && published.length === 1);
    const { client, keyId } = await signIn(user, own.url);
    assert.deepEqual([keyId], published);
    assert.equal((await client.get('/api/v1/users/me')).status, 200);
    const [event] = await own.sql<{ details: unknown }>(
      "select details from audit_logs where action = 'signing_key_revoked' and resource_id = $1",
      [leaked],
    );
    assert.deepEqual(event?.details, { via: 'command_line', successor: keyId });

    const again = await castellan(['rotate-keys', '--revoke', leaked, '--yes'], {
      ...environment,
      DATABASE_URL: own.databaseUrl,
    });
    assert.equal(again.code, 0);
    assert.match(again.out, /^Key \S+ was already revoked, at \S+Z\.\nSessions ended: 0\.\n$/);
  });

  test('--revoke without a terminal and without --yes reports that it changed nothing', async () => {
    const keys = () => service.sql('select key_id, signs_from from signing_keys order by 1');
    const before = (await keys()) as { key_id: string }[];
    const { code, err } = await castellan(
      ['rotate-keys', '--revoke', before[0]?.key_id as string],
      environment,
    );
    assert.equal(code, 1);
    assert.match(err, /^castellan: Key \S+ .+ Nothing was changed\. Confirm with --yes, or .+\n$/);
    assert.deepEqual(await keys(), before);
  });

  test('--revoke of an unknown key lists the existing keys; with --now it is a usage error', async () => {
    const [signing] = await service.sql<{ key_id: string }>(
      'select key_id from signing_keys where signs_from <= now() order by signs_from desc limit 1',
    );
    const unknown = await castellan(['rotate-keys', '--revoke', 'nobody', '--yes'], environment);
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /^castellan: there is no signing key "nobody"\. The keys are: .+\.\n$/);
    assert.ok(unknown.err.includes(`${signing?.key_id} (for sessions, signs now)`), unknown.err);
    const both = await castellan(['rotate-keys', '--revoke', 'nobody', '--now'], environment);
    assert.equal(both.code, 2);
  });

  test('a SECRET_KEY that differs from that of the service creates no key', async () => {
    const before = await service.sql('select key_id from signing_keys order by key_id');
    const { code, err } = await castellan(['rotate-keys'], {
      ...environment,
      SECRET_KEY: 'q3Vh0cGx5bXV0dGVyLWZvcmVzdC1saWdodC1tb3Nh',
    });
    assert.equal(code, 1);
    assert.match(err, /^castellan: .*SECRET_KEY.*\n$/);
    assert.deepEqual(await service.sql('select key_id from signing_keys order by key_id'), before);
  });
});

describe('reset-keys', () => {
  test('after SECRET_KEY was lost: the start names the command, and then the service starts and users sign in', async (t) => {
    const own = await startTestService(t);
    const user = await createVerifiedUser(own);
    const before = await signIn(user, own.url);
    const fresh = { DATABASE_URL: own.databaseUrl, SECRET_KEY: '7DL0v2QxNcYkB4wT9pRfHs6uJzGmEa1oXi8K3tWq' };
    await assert.rejects(own.another({ SECRET_KEY: fresh.SECRET_KEY }), /run `castellan reset-keys`/);

    const asked = await castellan(['reset-keys'], fresh);
    assert.equal(asked.code, 1);
    assert.match(asked.err, /Every session ends\..+ Nothing was changed/);
    assert.equal((await before.client.get('/api/v1/users/me')).status, 200);

    const { code, out, err } = await castellan(['reset-keys', '--yes'], fresh);
    assert.deepEqual([code, err], [0, '']);
    const [, keyId] =
      /^Key (\S+) signs\. Revoked: \S+\.\nSessions ended: 1\.\nRestart every instance with this SECRET_KEY\.\n$/.exec(
        out,
      ) ?? [];
    assert.equal((await own.sql(`select from audit_logs where action = 'signing_keys_reset'`)).length, 1);
    const restarted = await own.another({ SECRET_KEY: fresh.SECRET_KEY });
    assert.equal((await before.client.at(restarted.url).get('/api/v1/users/me')).status, 401);
    const { client, keyId: signedBy } = await signIn(user, restarted.url);
    assert.equal(signedBy, keyId);
    assert.equal((await client.get('/api/v1/users/me')).status, 200);
    // An instance that still has the lost key cannot sign, and reports that to the load balancer.
    const ready = await eventually(async () => {
      const answer = await own.client().get('/health/ready');
      return answer.status === 503 ? answer : undefined;
    }, 'the instance with the lost key to be not ready');
    assert.equal(ready.body.reason, 'no signing key can be opened');
  });

  test('after secret.key was lost: migrates a database of an earlier version and creates a file for the new key', async (t) => {
    const { url, drop } = await createEmptyDatabase();
    t.after(drop);
    const folder = await mkdtemp(join(tmpdir(), 'castellan-reset-'));
    t.after(() => rm(folder, { recursive: true }));
    await makeEarlierVersion(url, '0011-last-name');
    const lost = { DATABASE_URL: url, DATA_DIR: folder };
    const file = join(folder, 'secret.key');
    const asked = await castellan(['reset-keys'], lost);
    assert.equal(asked.code, 1);
    await assert.rejects(stat(file), /ENOENT/);

    const { code, out, err } = await castellan(['reset-keys', '--yes'], lost);
    assert.deepEqual([code, err], [0, '']);
    assert.match(
      out,
      /^Migrated: 0011-last-name, .+\.\nKey \S+ signs\. Revoked: \S+\.\nSessions ended: 0\.\n/,
    );
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const again = await castellan(['migrate'], lost);
    assert.deepEqual([again.code, again.err], [0, '']);
    assert.match(again.out, /The schema is up to date\./);
  });
});

test('a schema that a newer version has migrated is refused by every command but the revocation of a key', async (t) => {
  const own = await startTestService(t);
  const newer = { DATABASE_URL: own.databaseUrl, SECRET_KEY: TEST_SECRET_KEY };
  await own.sql("insert into schema_migrations values ('9999-later', '2027-01-01T00:00:00.000Z')");
  const state = () => own.sql('select (select count(*) from users), (select count(*) from signing_keys)');
  const before = await state();
  const name = ['--first-name', 'Ada', '--last-name', 'Byron'];
  for (const args of [
    ['migrate'],
    ['rotate-keys'],
    ['rotate-keys', '--now'],
    ['reset-keys', '--yes'],
    ['create-superuser', '--email', 'new@example.com', ...name],
    ['create-superuser', '--email', ADMIN.email, '--promote'],
  ]) {
    const { code, err } = await castellan(args, newer, PASSWORD);
    assert.equal(code, 1, args.join(' '));
    assert.match(
      err,
      /^castellan: The database is newer than this version.*9999-later.*Nothing was changed\.\n$/,
    );
  }
  assert.deepEqual(await state(), before);
  const [key] = await own.sql<{ key_id: string }>('select key_id from signing_keys');
  const revoked = await castellan(['rotate-keys', '--revoke', key?.key_id ?? '', '--yes'], newer);
  assert.deepEqual([revoked.code, revoked.err], [0, '']);
});

// The commands over the API, against one service. They run in this process; only what concerns the process itself (exit
// codes, standard input, the file of profiles) runs in one of its own.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Body } from '@castellan/testing/client';
import {
  ADMIN,
  newEmail,
  PASSWORD,
  signIn,
  startTestService,
  type TestService,
} from '@castellan/testing/harness';
import { alterations, startAlteringProxy } from '@castellan/testing/http/altering-proxy';
import { addProvider } from '@castellan/testing/openid/providers';
import { addApplication, applicationTokens } from '@castellan/testing/openid/tokens';
import {
  addApiKey,
  addServiceAccount,
  type TestServiceAccount,
} from '@castellan/testing/service-accounts/accounts';
import { addUser } from '@castellan/testing/sessions/accounts';
import { addPerson } from '@castellan/testing/users/people';
import { Failure, UsageError } from '../src/command.ts';
import { run } from '../src/program.ts';
import { castellan } from './castellan.ts';

const cleanups: (() => Promise<void>)[] = [];
let service: TestService;
let admin: TestServiceAccount;
let folder: string;
let environment: Record<string, string>;

before(async () => {
  service = await startTestService({ after: (hook) => void cleanups.push(hook) });
  const [role] = await service.sql<{ id: string }>("select id from roles where name = 'Admin'");
  admin = await addServiceAccount(service, { name: 'Operator', roles: [role?.id ?? ''] });
  folder = await mkdtemp(join(tmpdir(), 'castellan-cli-'));
  environment = {
    CASTELLAN_URL: service.url,
    CASTELLAN_API_KEY: admin.key,
    CASTELLAN_CONFIG: join(folder, 'config.json'),
  };
});
after(async () => {
  for (const cleanup of cleanups) await cleanup();
  await rm(folder, { recursive: true, force: true });
});

type Outcome = { out: string; code: number; error: string };

/** Runs a command in this process. */
async function cli(words: string[], own: Record<string, string> = {}): Promise<Outcome> {
  const lines: string[] = [];
  const host = { environment: { ...environment, ...own }, print: (text: string) => void lines.push(text) };
  try {
    await run(host, words, '0.0.0');
    return { out: lines.join('\n'), code: 0, error: '' };
  } catch (error) {
    assert.ok(error instanceof Error);
    const code = error instanceof UsageError ? 2 : error instanceof Failure ? error.exitCode : 1;
    return { out: lines.join('\n'), code, error: error.message };
  }
}

async function ok(...words: string[]): Promise<string> {
  const { out, code, error } = await cli(words);
  assert.deepEqual({ code, error }, { code: 0, error: '' }, words.join(' '));
  return out;
}

// The shape of the body is what the test is about.
const json = async (...words: string[]) => JSON.parse(await ok(...words, '--json'));
const lines = (text: string) => text.split('\n').map((line) => JSON.parse(line));

async function file(name: string, rows: readonly unknown[]): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n'));
  return path;
}

const invite = async (email = newEmail()) => {
  await ok('user', 'invite', '--email', email, '--first-name', 'Ada', '--last-name', 'Byron');
  return email;
};

describe('users', () => {
  test('a user is invited by mail, found, changed, deactivated, activated and deleted', async () => {
    const invited = await invite();
    assert.match((await service.mailTo(invited)).text, /\/invitation#token=/);
    const list = (...filter: string[]) => ok('user', 'list', '--search', invited, ...filter);
    const shown = new RegExp(`^EMAIL +NAME .+\n${invited} +Ada Byron +invited +- `);
    for (const filter of [[], ['--invited']]) assert.match(await list(...filter), shown);
    await ok('user', 'resend-invitation', invited);
    assert.match((await service.mailTo(invited, 1)).text, /\/invitation#token=/);
    assert.match((await cli(['user', 'withdraw-invitation', invited])).error, /Nothing was changed/);
    assert.equal(await ok('user', 'withdraw-invitation', invited, '--yes'), 'Invitation withdrawn.');
    assert.equal((await cli(['user', 'get', invited])).code, 3);
    const erased = await addPerson(service);
    assert.match((await cli(['user', 'erase', erased.email])).error, /Nothing was changed/);
    assert.equal(await ok('user', 'erase', erased.email, '--yes'), 'User erased.');
    assert.equal((await cli(['user', 'get', erased.email])).code, 3);
    const nameless = newEmail();
    await ok('user', 'invite', '--email', nameless, '--expires-in-hours', '2', '--role', 'User');
    assert.match((await service.mailTo(nameless)).text, /for 2 hours/);
    assert.equal((await cli(['user', 'invite', '--first-name', 'Ada'])).code, 2);

    const { email } = await addPerson(service, { lastName: 'Byron' });
    assert.match(await ok('user', 'get', email), /^email: .+\n.+Ada Byron\n[\s\S]*version: +\d+$/);
    const { data } = await json('user', 'get', email);
    assert.equal(await ok('user', 'update', data.id.toUpperCase(), '--last-name', ''), 'User changed.');
    assert.equal((await json('user', 'get', email)).data.last_name, '');
    assert.equal(await ok('user', 'deactivate', email, '--yes'), 'User deactivated.');
    const mails = service.mails().length;
    const refused = await cli(['user', 'reset-password', email]);
    assert.match(refused.error, /is not active\. No mail was sent/);
    await ok('user', 'activate', email);
    await ok('user', 'unlock', email);
    assert.match(await ok('user', 'reset-password', email, '--dry-run'), /POST .+password-reset\/request/);
    await ok('user', 'reset-password', email);
    assert.match((await service.mailTo(email)).text, /\/reset#token=/);
    assert.equal(service.mails().length, mails + 1);
    await ok('user', 'delete', email, '--yes');
    assert.deepEqual(await cli(['user', 'get', email]), {
      out: '',
      code: 3,
      error: `there is no user "${email}". Nothing was changed.`,
    });
  });

  test('an empty name is no user, not the first of the list', async () => {
    for (const nobody of ['', ' '])
      for (const command of [
        ['get'],
        ['update', '--superuser', 'no'],
        ['deactivate', '--yes'],
        ['delete', '--yes'],
      ])
        assert.deepEqual(await cli(['user', ...command, nobody]), {
          out: '',
          code: 2,
          error: 'the email or the id of the user is empty. Nothing was changed.',
        });
  });

  test('roles are added and removed one by one, even when somebody else changes the user in between', async () => {
    const email = await invite();
    const roles = async () =>
      (await json('user', 'get', email)).data.roles.map(({ name }: { name: string }) => name).sort();
    await Promise.all([
      ok('user', 'roles', 'add', email, 'manager'),
      ok('user', 'roles', 'add', email, 'User'),
    ]);
    assert.deepEqual(await roles(), ['Manager', 'User']);
    assert.equal(await ok('user', 'roles', 'add', email, 'User'), 'Nothing to change.');
    await ok('user', 'roles', 'remove', email, 'Manager');
    assert.deepEqual(await roles(), ['User']);
    await ok('user', 'roles', 'set', email, 'Manager', 'Service', '--yes');
    assert.deepEqual(await roles(), ['Manager', 'Service']);
    assert.match(
      await ok('user', 'permissions', email),
      /^PERMISSION +THROUGH\n[\s\S]*^user\.read +Manager$/m,
    );
    assert.match(await ok('can', email, 'user.read'), /^yes: a role gives it\n {2}through the role Manager/);
    const no = await cli(['can', email, 'users.delete']);
    assert.deepEqual([no.code, no.error], [1, '']);
    assert.match(no.out, /^no: no role gives it/);
  });

  test('--dry-run shows the request and its effect, and changes nothing', async () => {
    const email = await invite();
    const before = await json('user', 'get', email);
    const shown = await ok('user', 'roles', 'add', email, 'Manager', '--dry-run');
    assert.match(
      shown,
      /^Nothing was changed\. .+\n {2}POST \/api\/v1\/users\/[\s\S]+ {2}gain user\.read: 1$/m,
    );
    const { request, preview } = await json('user', 'deactivate', email, '--dry-run');
    assert.deepEqual([request.method, request.body], ['PUT', { is_active: false }]);
    assert.equal(preview.would_be_refused, null);
    await ok('user', 'sessions', 'end', email, '--dry-run');
    const names = ['--email', newEmail(), '--first-name', 'No', '--last-name', 'One'];
    assert.match(await ok('user', 'create', ...names, '--dry-run'), /"password":"\(not shown\)"/);
    const refused = await cli(['role', 'delete', 'Admin', '--dry-run']);
    assert.match(
      refused.error,
      /^the change would be refused: .+\(system_role_protected\)$|^the change would be refused: /,
    );
    assert.equal(refused.code, 1);
    assert.deepEqual(await json('user', 'get', email), before);
    assert.equal((await cli(['user', 'get', names[1] ?? ''])).code, 3);
  });

  test('--dry-run of a replay says how many events there are, and queues none', async () => {
    const to = join(folder, 'counted.secret');
    await ok(
      'webhook',
      'create',
      'Counted',
      '--endpoint',
      'http://127.0.0.1:1/',
      '--event',
      'role_*',
      '--to',
      to,
    );
    await ok('role', 'create', 'Counted');
    const replay = [
      'webhook',
      'replay',
      'Counted',
      '--from',
      '2020-01-01T00:00:00Z',
      '--event',
      'role_created',
    ];
    const [{ count = 0 } = {}] = await service.sql<{ count: number }>(
      "select count(*)::integer as count from audit_logs where action = 'role_created'",
    );
    const sentence = `${count} events would wait to be sent.`;
    assert.ok((await ok(...replay, '--dry-run')).split('\n').includes(sentence));
    assert.deepEqual((await json(...replay, '--dry-run')).consequences, [sentence]);
    assert.deepEqual(await service.sql('select from webhook_replays'), []);
    await ok('webhook', 'delete', 'Counted', '--yes');
  });

  test('a set that is replaced names what it removes, and asks', async () => {
    const email = await invite();
    await ok('user', 'roles', 'set', email, 'User', 'Manager');
    await ok('role', 'create', 'Guide', '--permission', 'role.read', '--permission', 'user.read');
    await ok('service-account', 'create', 'Kiosk', '--role', 'Service', '--role', 'User');
    const commands = [
      { args: ['user', 'roles', 'set', email, 'Manager'], loss: `The user ${email} loses User.` },
      { args: ['role', 'permissions', 'set', 'Guide', 'role.read'], loss: 'The role Guide loses user.read.' },
      {
        args: ['service-account', 'update', 'Kiosk', '--role', 'User'],
        loss: 'The service account Kiosk loses Service.',
      },
    ];
    for (const { args, loss } of commands) {
      const refused = `${loss} Nothing was changed. Confirm with --yes, or run the command at a terminal.`;
      assert.deepEqual(await cli(args), { out: '', code: 1, error: refused });
      assert.ok((await ok(...args, '--dry-run')).split('\n').includes(loss), loss);
      assert.deepEqual((await json(...args, '--dry-run')).consequences, [loss]);
      await ok(...args, '--yes');
      // Now it removes nothing, so it does not ask.
      await ok(...args);
    }
  });

  test('bulk: each row gets a verdict, and a wrong one stops no other', async () => {
    const [good, other] = [newEmail(), newEmail()];
    const row = { email: good, first_name: 'A', last_name: 'B', password: PASSWORD };
    const path = await file('users.ndjson', [
      row,
      'not JSON',
      row,
      { ...row, email: other, roles: ['User'] },
      { ...row, roles: ['Nobody'] },
      [],
      '',
    ]);
    const { code, error, out } = await cli(['user', 'create', '--from', path, '--json']);
    assert.deepEqual([code, error], [1, '4 of 6 rows failed: 2, 3, 5, 6. The others were carried out.']);
    const verdicts = lines(out);
    assert.deepEqual(
      verdicts.map(({ row, ok, code }) => [row, ok, code]),
      [
        [1, true, undefined],
        [2, false, undefined],
        [3, false, 'email_taken'],
        [4, true, undefined],
        [5, false, undefined],
        [6, false, undefined],
      ],
    );
    assert.ok(!out.includes(PASSWORD));
    const { data } = await json('user', 'get', other);
    assert.deepEqual([data.id, data.roles.length], [verdicts[3].id, 1]);
    const dead = await addServiceAccount(service, { revoked: true });
    const stopped = await cli(['user', 'invite', '--from', path], { CASTELLAN_API_KEY: dead.key });
    assert.equal(stopped.code, 4);
    assert.match(stopped.error, /^stopped at row 1: /);
    assert.equal((await cli(['user', 'create', '--from', join(folder, 'none')])).code, 2);
  });

  test('lists are read to the end, each user once', async () => {
    for (let count = 0; count < 3; count += 1) await invite();
    const { data } = await json('user', 'list');
    const ids = lines(await ok('user', 'list', '--all', '--size', '2', '--json')).map(({ id }) => id);
    assert.equal(new Set(ids).size, data.total);
    assert.equal(ids.length, data.total);
    assert.equal((await ok('user', 'list', '--size', '2')).split('\n').length, 3);
    assert.equal((await cli(['user', 'list', '--size', '0'])).code, 2);
  });

  test('a name that would drive the terminal is escaped', async () => {
    const email = await invite();
    await service.sql("update users set first_name = E'\\x1b]0;owned\\x07\\u202e' where email = $1", [email]);
    for (const args of [[], ['--json'], ['--all', '--json']]) {
      const out = await ok('user', 'list', '--search', email, ...args);
      assert.ok(!/\p{Cc}(?<!\n)|\p{Bidi_Control}/u.test(out));
      assert.match(out, /\\u001b\]0;owned\\u0007\\u202e/);
    }
  });
});

describe('roles, permissions and groups', () => {
  test('groups, permissions and roles are created, named, changed and deleted', async () => {
    await ok('permission-group', 'create', 'Kitchen', '--description', 'Food');
    await ok('permission-group', 'create', 'Oven', '--parent', 'kitchen');
    for (const name of ['open', 'close'])
      assert.equal(
        await ok('permission', 'create', name, '--group', 'Oven'),
        `Permission Oven.${name} created.`,
      );
    assert.match(await ok('permission', 'list', '--own'), /^NAME +GROUP [\s\S]*^Oven\.open +Oven /m);
    assert.match(
      await ok('permission-group', 'get', 'Oven'),
      /^permissions: +Oven\.(open, Oven\.close|close, Oven\.open)$/m,
    );
    await ok('role-group', 'create', 'Staff');
    await ok('role', 'create', 'Cook', '--permission', 'oven.open', '--role-group', 'Staff');
    await ok('role', 'permissions', 'add', 'Cook', 'OVEN.CLOSE');
    assert.match(
      await ok('role', 'permissions', 'list', 'cook'),
      /^PERMISSION +GROUP +ID\nOven\.(close[\s\S]+\nOven\.open|open[\s\S]+\nOven\.close)/,
    );
    await ok('role', 'permissions', 'remove', 'Cook', 'oven.open');
    await ok('role-group', 'update', 'Staff', '--name', 'Crew');
    assert.match(await ok('role-group', 'get', 'Crew'), /^roles: +Cook$/m);
    const { version } = (await json('role', 'list', '--pattern', 'Cook')).data[0];
    const outdated = String((version ?? 0) + 1_000);
    const raced = await cli(['role', 'update', 'Cook', '--description', 'x', '--if-version', outdated]);
    assert.equal(raced.code, 1);
    assert.match(raced.error, /\(precondition_failed, request .+\)\nNothing was changed\. Somebody else/);
    await ok('role', 'update', 'Cook', '--description', 'Cooks');
    assert.equal((await cli(['role', 'delete', 'Cook', '--yes'])).code, 1);
    await ok('role', 'permissions', 'remove', 'Cook', 'oven.close');
    await ok('role-group', 'roles', 'remove', 'Crew', 'Cook');
    await ok('role-group', 'roles', 'add', 'Crew', 'Cook');
    assert.match(
      await ok('permission', 'holders', 'user.read', '--superusers'),
      /^user +First Administrator +admin@example\.com/m,
    );
    assert.match(await ok('role', 'holders', 'Admin'), /^service_account +Operator +- +yes/m);
    await ok('role', 'delete', 'Cook', '--yes');
    await ok('role-group', 'delete', 'Crew', '--yes');
    for (const name of ['oven.open', 'oven.close']) await ok('permission', 'delete', name, '--yes');
    await ok('permission-group', 'delete', 'Oven', '--yes');
    await ok('permission-group', 'delete', 'Kitchen', '--yes');
  });

  test('behind proxies that alter ETags, versions are read and saves succeed', async (t) => {
    const url = await startAlteringProxy({ after: (hook) => t.after(hook) }, service.url);
    const behind = async (...words: string[]) => {
      const { out, code, error } = await cli(words, { CASTELLAN_URL: url });
      assert.deepEqual({ code, error }, { code: 0, error: '' }, words.join(' '));
      return out;
    };
    await ok('role', 'create', 'Behind a proxy');
    for (const round of alterations.keys()) {
      const shown = await behind('role', 'get', 'Behind a proxy');
      const version = /^version: +(\d+)$/m.exec(shown)?.[1] ?? '';
      assert.notEqual(version, '', shown);
      await behind('role', 'update', 'Behind a proxy', '--description', `${round}`, '--if-version', version);
      await behind('role', 'permissions', round % 2 ? 'remove' : 'add', 'Behind a proxy', 'users.read');
    }
  });

  test('permissions of many roles are set from rows, each role as a whole or not at all', async () => {
    for (const name of ['Night', 'Day']) await ok('role', 'create', name, '--permission', 'role.read');
    const path = await file('roles.ndjson', [
      { role: 'Night', permissions: ['user.read', 'no.such'] },
      { role: 'Day', permissions: ['user.read'] },
      { role: 'Noon', permissions: [] },
      { role: 'Day' },
    ]);
    const unconfirmed = await cli(['role', 'permissions', 'set', '--from', path]);
    assert.deepEqual([unconfirmed.code, unconfirmed.out], [1, '']);
    assert.match(unconfirmed.error, /^Each role of the file loses .+ Confirm with --yes/);
    const shown = await cli(['role', 'permissions', 'set', '--from', path, '--dry-run']);
    assert.match(shown.out, /^The role Day loses role\.read\.$/m);
    const { code, out } = await cli(['role', 'permissions', 'set', '--from', path, '--yes']);
    assert.equal(code, 1);
    assert.deepEqual(
      out.split('\n').map((line) => line.slice(0, 14)),
      ['row 1: failed:', 'row 2: Day: 1 ', 'row 3: failed:', 'row 4: failed:'],
    );
    const names = async (role: string) =>
      (await json('role', 'get', role)).data.permissions.map(({ name }: { name: string }) => name);
    assert.deepEqual([await names('Night'), await names('Day')], [['role.read'], ['user.read']]);
  });
});

describe('service accounts, keys, sessions, settings and audit', () => {
  test('a key goes to a file that only its owner reads, works, is rotated and revoked', async () => {
    await ok('service-account', 'create', 'Shop', '--role', 'Service');
    const path = join(folder, 'shop.key');
    assert.match(await ok('key', 'create', 'Shop', 'web-1', '--to', path), /^Key castellan_\w{12} is in /);
    const key = (await readFile(path, 'utf8')).trim();
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    const again = await cli(['key', 'create', 'Shop', 'web-2', '--to', path]);
    assert.deepEqual([again.code, again.error], [2, `--to ${path}: the file exists. No key was created.`]);
    assert.equal((await json('key', 'list', 'Shop')).data.length, 1);
    const unmade = join(folder, 'unmade.key');
    assert.equal((await cli(['key', 'create', 'Shop', 'x', '--expires', 'soon', '--to', unmade])).code, 1);
    await assert.rejects(stat(unmade), { code: 'ENOENT' });
    const own = { CASTELLAN_API_KEY: '', CASTELLAN_API_KEY_FILE: path };
    const denied = await cli(['user', 'list'], own);
    assert.equal(denied.code, 4);
    assert.match(denied.error, /request .+\)\nNothing was changed\. .+ needs the permission users\.read\.$/);
    assert.equal((await cli(['can', 'admin@example.com', 'x.y', '--type', 'user'], own)).code, 4);
    const unconfirmed = await cli(['key', 'rotate', 'Shop', 'web-1', '--overlap', '0']);
    assert.match(unconfirmed.error ?? '', /are refused at once\. .*Nothing was changed\. Confirm with --yes/);
    const rotated = await json('key', 'rotate', 'Shop', 'web-1', '--overlap', '0', '--yes');
    assert.notEqual(rotated.data.key, key);
    assert.equal((await cli(['user', 'list'], own)).code, 4);
    const [shop] = await service.sql<{ id: string }>("select id from service_accounts where name = 'Shop'");
    const maker = await addApiKey(service, shop?.id ?? '');
    const made = await addApiKey(service, shop?.id ?? '');
    await service.sql('update api_keys set made_with_key_ids = array[$1::uuid] where id = $2', [
      maker.keyId,
      made.keyId,
    ]);
    const revoke = ['key', 'revoke', 'Shop', maker.prefix, '--yes'];
    assert.match(await ok(...revoke), /made with it: 1\. End them with --descendants\.$/m);
    assert.match(await ok(...revoke, '--descendants'), /So were the keys made with it: 1\.$/m);
    await ok('key', 'revoke', 'Shop', rotated.data.prefix, '--yes');
    assert.match(await ok('key', 'list', 'Shop'), /revoked/);
    await ok('service-account', 'update', 'Shop', '--active', 'no');
    assert.match(await ok('service-account', 'list', '--search', 'Shop'), /^Shop +no +Service/m);
    await ok('service-account', 'delete', 'Shop', '--yes');
  });

  test('an application is created with its secret, changed, and its secrets are replaced', async () => {
    const redirect = 'https://grafana.example.com/login/generic_oauth';
    const missing = await cli(['application', 'create', 'Grafana']);
    assert.deepEqual([missing.code, missing.out], [2, '']);
    const created = await ok(
      'application',
      'create',
      'Grafana',
      '--client-id',
      'grafana',
      '--redirect',
      redirect,
    );
    const [, first] =
      /^Application Grafana created\. Its secret, .+: (cas_cs_\w{43}_\w{6})$/.exec(created) ?? [];
    assert.ok(first, created);
    assert.match(await ok('application', 'list', '--search', 'graf'), /^Grafana +grafana +web +yes +https/m);
    await ok('application', 'update', 'Grafana', '--required-permission', 'role.read', '--pkce', 'no');
    const { data } = await json('application', 'get', 'Grafana');
    assert.ok(data.required_permission_id);
    assert.deepEqual([data.redirect_uris, data.require_pkce], [[redirect], false]);
    await ok('application', 'update', 'Grafana', '--required-permission', '');
    assert.match(await ok('application', 'get', 'Grafana'), /^required permission: +-?$/m);
    const claims = JSON.stringify([{ name: 'is_root', from: 'superuser', as: 'boolean', in: ['userinfo'] }]);
    await ok('application', 'update', 'Grafana', '--claims', claims);
    assert.match(await ok('application', 'get', 'Grafana'), /^claims: +is_root$/m);
    assert.equal((await cli(['application', 'update', 'Grafana', '--claims', '{'])).code, 2);
    const told = await ok('application', 'claims', 'Grafana', 'admin@example.com');
    assert.match(told, /^may sign in: yes\nuserinfo: .+"is_root": true.+ID token: /s);
    const path = join(folder, 'grafana.secret');
    assert.match(
      await ok('application', 'secret', 'create', 'Grafana', '--name', '2027', '--to', path),
      /^Secret cas_cs_\w{6} is in /,
    );
    assert.match((await readFile(path, 'utf8')).trim(), /^cas_cs_\w{43}_\w{6}$/);
    const prefix = first.slice(0, 13);
    const revoke = ['application', 'secret', 'revoke', 'Grafana', prefix];
    assert.match(
      (await cli(revoke)).error,
      /is refused at once\. .*Nothing was changed\. Confirm with --yes/,
    );
    assert.equal(await ok(...revoke, '--yes'), `Secret ${prefix} revoked.`);
    assert.equal((await cli([...revoke, '--yes'])).code, 3);
    assert.deepEqual(
      (await json('application', 'secret', 'list', 'Grafana')).data.map(({ name }: { name: string }) => name),
      ['2027'],
    );
    const spa = await ok('application', 'create', 'Shop page', '--client-id', 'shop', '--type', 'spa');
    assert.equal(spa, 'Application Shop page created.');
    await ok('application', 'delete', 'Grafana', '--yes');
  });

  test('who has access to an application is listed, and ended for one sign-in, one user or everybody', async () => {
    const application = await addApplication(service, await signIn(service, ADMIN));
    const sign = async () => {
      const user = await addUser(service);
      await service.client().login(user);
      await applicationTokens(service, application, user.id);
      return user;
    };
    const [ada, ben, cid] = [await sign(), await sign(), await sign()];
    const people = async (...more: string[]): Promise<Body[]> =>
      (await json('application', 'people', application.client_id, ...more)).data;
    const shown = await ok('application', 'people', application.client_id, '--user', ada.email);
    assert.match(shown, new RegExp(`^USER +SCOPES .+\n${ada.email} +openid, profile +no `));
    assert.equal((await people()).length, 3);
    const end = ['application', 'end', application.client_id];
    for (const wrong of [[], ['--all', '--user', ada.email], ['x', '--all']])
      assert.equal((await cli([...end, ...wrong, '--yes'])).code, 2);
    assert.match(
      (await cli([...end, '--all'])).error,
      /ends at once\. .*Nothing was changed\. Confirm with --yes/,
    );
    assert.match(
      await ok('application', 'delete', application.client_id, '--dry-run'),
      /^It would end the access of 3 people: 3 authorizations, of 3 sessions\.$/m,
    );
    assert.equal((await people()).length, 3);
    const [one] = await people('--user', ada.email);
    assert.equal(await ok(...end, one.id, '--yes'), 'Ended 1 authorization.');
    assert.equal(await ok(...end, '--user', ben.email, '--yes'), 'Ended 1 authorization.');
    assert.deepEqual(
      (await people()).map(({ user }) => user.email),
      [cid.email],
    );
    assert.equal(await ok(...end, '--all', '--yes'), 'Ended 1 authorization.');
    assert.equal(await ok('application', 'people', application.client_id, '--json', '--all'), '');
  });

  test('an API resource is created, found by name and by identifier, changed and deleted', async () => {
    const identifier = 'https://orders.example.com';
    await ok('permission-group', 'create', 'Orders');
    assert.equal((await cli(['api-resource', 'create', 'Orders'])).code, 2);
    const create = ['api-resource', 'create', 'Orders', '--identifier', identifier, '--seconds', '60'];
    assert.equal((await cli([...create.slice(0, -1), 'long'])).code, 2);
    assert.equal(await ok(...create, '--permission-group', 'orders'), 'API resource Orders created.');
    assert.match(
      await ok('api-resource', 'list', '--search', 'orders'),
      /^Orders +https:\/\/orders\.example\.com +60 +RS256 /m,
    );
    const { data } = await json('api-resource', 'get', identifier);
    assert.equal(data.permission_group_ids.length, 1);
    const settings = ['application', 'update', 'Orders page', '--resource'];
    await ok('permission', 'create', 'read', '--group', 'orders');
    await ok(
      'application',
      'create',
      'Orders page',
      '--client-id',
      'o',
      '--type',
      'spa',
      '--resource',
      'orders',
    );
    const resources = async () => (await json('application', 'get', 'Orders page')).data.resources;
    const [all] = await resources();
    assert.deepEqual([all.resource_id, all.permission_ids.length], [data.id, 1]);
    await ok(...settings, `${identifier}=`);
    assert.deepEqual(await resources(), [{ resource_id: data.id, permission_ids: [] }]);
    await ok(...settings, `${identifier}=orders.read`);
    assert.deepEqual(await resources(), [all]);
    assert.equal((await cli([...settings, 'orders=orders.eat'])).code, 3);
    await ok(...settings, '');
    assert.deepEqual(await resources(), []);
    await ok('application', 'delete', 'Orders page', '--yes');
    await ok('permission', 'delete', 'Orders.read', '--yes');
    const update = ['api-resource', 'update', 'orders'];
    assert.equal((await cli(update)).code, 2);
    await ok(...update, '--algorithm', 'ES256', '--permission-group', '');
    assert.match(await ok('api-resource', 'get', 'Orders'), /^algorithm: +ES256$/m);
    assert.deepEqual((await json('api-resource', 'get', 'Orders')).data.permission_group_ids, []);
    await ok('api-resource', 'delete', identifier, '--yes');
    assert.equal((await cli(['api-resource', 'get', 'Orders'])).code, 3);
    await ok('permission-group', 'delete', 'Orders', '--yes');
  });

  test('attributes are declared, changed and deleted, and users get and lose values', async () => {
    assert.equal((await cli(['user-attribute', 'create', 'floor'])).code, 2);
    const create = ['user-attribute', 'create', 'floor', '--label', 'Floor', '--type', 'integer'];
    assert.equal(await ok(...create), 'User attribute floor created.');
    await ok(
      'user-attribute',
      'create',
      'team',
      '--label',
      'Team',
      '--searchable',
      'yes',
      '--max-length',
      '9',
    );
    assert.match(await ok('user-attribute', 'list'), /^team +Team +string +none +/m);
    await ok('user-attribute', 'update', 'team', '--self', 'read');
    assert.match(await ok('user-attribute', 'get', 'team'), /^self: +read$/m);
    const { email } = await addPerson(service);
    const set = ['user', 'attribute', email, '--set'];
    await ok(...set, 'floor=3', '--set', 'team=a=b');
    assert.match(await ok('user', 'attribute', email), /^floor +3\nteam +a=b$/m);
    assert.deepEqual((await json('user', 'attribute', email)).data, { floor: 3, team: 'a=b' });
    for (const [value, code] of [
      ['floor', 2],
      ['floor=three', 2],
      ['nowhere=1', 3],
    ] as const)
      assert.equal((await cli([...set, value])).code, code, value);
    await ok(...set, 'team=');
    assert.deepEqual((await json('user', 'attribute', email)).data, { floor: 3 });
    const invited = newEmail();
    const inviting = ['user', 'invite', '--email', invited, '--set'];
    assert.equal((await cli([...inviting, 'nowhere=1'])).code, 3);
    assert.equal((await cli([...inviting, 'floor=1', '--from', '-'])).code, 2);
    await ok(...inviting, 'floor=7', '--set', 'team=new');
    assert.deepEqual((await json('user', 'attribute', invited)).data, { floor: 7, team: 'new' });
    await ok('user', 'withdraw-invitation', invited, '--yes');
    assert.notEqual((await cli(['user-attribute', 'delete', 'floor', '--yes'])).code, 0);
    await ok('user-attribute', 'delete', 'floor', '--force', '--yes');
    await ok('user-attribute', 'delete', 'team', '--yes');
  });

  test('identity providers are listed, shown and switched off', async () => {
    const { id, slug, issuer } = await addProvider(service);
    assert.match(await ok('identity-provider', 'list'), new RegExp(`^${slug} .* oidc +${issuer} +yes `, 'm'));
    assert.match(await ok('identity-provider', 'get', slug), /^redirect address: +http.*\/callback$/m);
    assert.equal((await cli(['identity-provider', 'get', 'unknown'])).code, 3);
    const dry = await ok('identity-provider', 'disable', slug, '--dry-run');
    assert.match(dry, /It concerns 0 connected accounts with 0 live sessions\./);
    assert.equal(
      await ok('identity-provider', 'disable', slug, '--end-sessions', '--yes'),
      `Identity provider ${slug} is not active.`,
    );
    assert.equal((await json('identity-provider', 'get', id)).data.is_active, false);
  });

  test('sessions are listed and ended', async () => {
    const email = newEmail();
    const row = { email, first_name: 'S', last_name: 'T', password: PASSWORD };
    await ok('user', 'create', '--from', await file('session.ndjson', [row]));
    for (let count = 0; count < 3; count += 1)
      assert.equal((await service.client().login({ email, password: PASSWORD })).status, 200);
    const { data } = await json('session', 'list', '--user', email);
    assert.equal(data.length, 3);
    await ok('session', 'end', data[0].id, '--yes');
    assert.equal((await json('user', 'sessions', 'list', email)).data.length, 2);
    assert.equal((await cli(['session', 'end', '--yes'])).code, 2);
    for (const filter of ['--user', '--address', '--search', '--older-than'])
      assert.equal((await cli(['session', 'end', '--user', email, filter, ' ', '--yes'])).code, 2, filter);
    assert.equal((await json('user', 'sessions', 'list', email)).data.length, 2);
    await ok('session', 'end', '--user', email, '--yes');
    assert.equal(
      await ok('user', 'sessions', 'list', email),
      'STARTED  LAST USED  ADDRESS  NETWORK  PROGRAM  ID',
    );
  });

  test('personal access tokens are listed and ended, and act as their owner', async () => {
    const person = await addPerson(service);
    const client = service.client();
    await client.login(person);
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const made = await client.post('/api/v1/users/me/tokens', { name: 'Laptop', expires_at });
    assert.equal(made.status, 201, made.text);
    const { token, prefix } = made.body.data;
    assert.match(await ok('token', 'list', '--user', person.email), new RegExp(`^Laptop +${prefix} `, 'm'));
    const own = await cli(['token', 'list'], { CASTELLAN_API_KEY: token });
    assert.equal(own.code, 0, own.error);
    assert.match(own.out, new RegExp(`^Laptop +${prefix} `, 'm'));
    assert.equal((await cli(['token', 'revoke', 'Laptop', '--yes'])).code, 2);
    assert.equal(
      await ok('token', 'revoke', 'Laptop', '--user', person.email, '--yes'),
      `Token ${prefix} (Laptop) has ended.`,
    );
    assert.notEqual((await cli(['token', 'list'], { CASTELLAN_API_KEY: token })).code, 0);
    assert.equal((await cli(['token', 'revoke', 'Laptop', '--user', person.email, '--yes'])).code, 3);
  });

  test('the feed is followed, and a wrong cursor or caller is refused', async () => {
    const { key } = await addServiceAccount(service, { permissions: ['access.watch'] });
    const { id } = await addPerson(service);
    let isOver = false;
    const changes = (async () => {
      for (let turn = 0; !isOver; turn += 1) {
        await service.sql('update users set first_name = $2 where id = $1', [id, `Name ${turn}`]);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    })();
    const tailed = await cli(['feed', 'tail', '--count', '2'], { CASTELLAN_API_KEY: key }).finally(() => {
      isOver = true;
    });
    await changes;
    assert.equal(tailed.code, 0, tailed.error);
    const lines = tailed.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.ok(
      lines.some((line) => line.type === 'user' && line.id === id),
      tailed.out,
    );
    assert.equal((await cli(['feed', 'tail', '--count', '0'], { CASTELLAN_API_KEY: key })).code, 2);
    assert.equal((await cli(['feed', 'tail', '--after', 'x'], { CASTELLAN_API_KEY: key })).code, 1);
    const other = await addServiceAccount(service);
    assert.notEqual((await cli(['feed', 'tail'], { CASTELLAN_API_KEY: other.key })).code, 0);
  });

  test('settings and the audit log are read', async () => {
    assert.match(await ok('settings', 'list', '--changed'), /^SECRET_KEY +\(not shown\) +environment$/m);
    const email = await invite();
    assert.match(
      await ok('audit', 'list', '--action', 'user_invited'),
      new RegExp(`user_invited +Operator +user ${email}`),
    );
    const { code, out } = await castellan(
      ['audit', 'export', '--action', 'user_created', '--format', 'csv'],
      environment,
    );
    assert.equal(code, 0);
    assert.match(out, /^id,actor_id,/);
  });

  test('the signed head of the audit log is printed as it is, also an earlier one', async () => {
    await service.service.deps.sealer.run();
    await service.sql(
      "insert into audit_logs (id, action, resource_type) values (gen_random_uuid(), 'role_created', 'role')",
    );
    await service.service.deps.sealer.run();
    const head = await ok('audit', 'head');
    const sent = await fetch(`${service.url}/api/v1/audit-logs/head`, {
      headers: { authorization: `Bearer ${admin.key}` },
    });
    assert.equal(`${head}\n`, await sent.text());
    const [origin, , root] = head.split('\n');
    const [first, size, earlier] = (await ok('audit', 'head', '--size', '1')).split('\n');
    assert.deepEqual([first, size], [origin, '1']);
    assert.notEqual(earlier, root);
    assert.equal((await cli(['audit', 'head', '--size', '0'])).code, 2);
    const refused = await cli(['audit', 'head', '--size', '1000000']);
    assert.match(refused.error, /larger than the log/);
  });

  test('the export with evidence is what is verified', async () => {
    await service.service.deps.sealer.run();
    const { code, out } = await castellan(['audit', 'export', '--evidence'], environment);
    assert.equal(code, 0);
    assert.match(out, /^\{"line":"log"[\s\S]*\n\{"line":"head"[^\n]*\}\n$/);
    const refused = await cli(['audit', 'export', '--evidence', '--action', 'user_created']);
    assert.match(refused.error, /leave out the filters/);
  });

  test('an export of the audit log in CSV begins with a byte order mark where that is asked for', async () => {
    const exported = (...more: string[]) =>
      castellan(['audit', 'export', '--action', 'user_created', ...more], environment);
    const plain = await exported('--format', 'csv');
    const marked = await exported('--format', 'csv', '--bom');
    assert.deepEqual([plain.code, marked.code], [0, 0]);
    assert.equal(marked.out, `\uFEFF${plain.out}`);
    const refused = await exported('--bom');
    assert.deepEqual([refused.code, refused.out], [2, '']);
    assert.match(refused.err, /--bom needs --format csv/);
  });

  test('routine entries of the audit log are left out of lists and exports where that is asked for', async () => {
    const user = await addUser(service);
    const client = service.client();
    await client.login(user);
    const { status } = await client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken });
    assert.equal(status, 200);
    const about = ['--resource', user.id];
    const leftOut = [...about, '--routine', 'exclude'];
    const actionsIn = (text: string): string[] =>
      text.match(/\b(?:login_succeeded|session_refreshed)\b/g) ?? [];
    assert.deepEqual(actionsIn(await ok('audit', 'list', ...about)), [
      'session_refreshed',
      'login_succeeded',
    ]);
    assert.deepEqual(actionsIn(await ok('audit', 'list', ...leftOut)), ['login_succeeded']);
    const { routine_left_out } = JSON.parse(await ok('audit', 'list', ...leftOut, '--json'));
    assert.deepEqual(routine_left_out, { count: 1, is_lower_bound: false });
    for (const [words, actions] of [
      [about, ['session_refreshed', 'login_succeeded']],
      [leftOut, ['login_succeeded']],
    ] as const) {
      const { code, out } = await castellan(['audit', 'export', ...words], environment);
      assert.equal(code, 0);
      assert.deepEqual(actionsIn(out), actions);
    }
    assert.equal((await cli(['audit', 'list', '--routine', 'include'])).code, 2);
  });
});

describe('the connection', () => {
  test('login stores a live key for its URL alone, in a file that nobody else reads', async () => {
    const own = { CASTELLAN_CONFIG: join(folder, 'own', 'config.json') };
    const login = (key: string, ...more: string[]) =>
      castellan(['login', '--url', service.url, ...more], own, `${key}\n`);
    const wrong = await login('castellan_wrong');
    assert.equal(wrong.code, 4);
    assert.match(wrong.err, /\(api_key_invalid, request /);
    const { code, out, err } = await login(admin.key, '--profile', 'test');
    assert.deepEqual([code, err], [0, '']);
    assert.ok(!out.includes(admin.key));
    assert.equal((await stat(own.CASTELLAN_CONFIG)).mode & 0o777, 0o600);
    const stored = { ...own, CASTELLAN_URL: '', CASTELLAN_API_KEY: '' };
    assert.equal((await cli(['role', 'list'], stored)).code, 0);
    assert.equal((await cli(['role', 'list', '--profile', 'none'], stored)).code, 2);
    const other = await cli(['role', 'list', '--url', 'http://127.0.0.1:9'], stored);
    assert.equal(other.code, 4);
    assert.match(other.error, /^there is no API key for http:\/\/127\.0\.0\.1:9\. /);
    assert.equal((await cli(['profile', 'list'], stored)).out, `*  test  ${service.url}`);
    await writeFile(own.CASTELLAN_CONFIG, await readFile(own.CASTELLAN_CONFIG), { mode: 0o644 });
    assert.equal((await cli(['profile', 'use', 'none'], stored)).code, 3);
    assert.equal((await cli(['profile', 'remove', 'test'], stored)).code, 0);
    assert.equal((await cli(['role', 'list'], stored)).code, 4);
    await writeFile(join(folder, 'open.json'), '{}', { mode: 0o644 });
    const open = await cli(['role', 'list'], { ...stored, CASTELLAN_CONFIG: join(folder, 'open.json') });
    assert.match(open.error, /^other users can read the API keys/);
  });

  test('no key crosses a network without encryption, unless that is allowed', async () => {
    const refused = await cli(['role', 'list', '--url', 'http://id.example.com']);
    assert.equal(refused.code, 2);
    assert.match(refused.error, /is not encrypted/);
    const profiles = { a: { url: 'http://a.example', api_key: 'k', allow_http: true } };
    const path = join(folder, 'http.json');
    await writeFile(path, JSON.stringify({ current: 'a', profiles }), { mode: 0o600 });
    const other = await cli(['role', 'list', '--url', 'http://b.example'], { CASTELLAN_CONFIG: path });
    assert.deepEqual([other.code, /is not encrypted/.test(other.error)], [2, true]);
  });

  test('an unreachable service is exit code 5, a refused key 4, an unknown id 3', async () => {
    const gone = await cli(['role', 'list'], { CASTELLAN_URL: 'http://127.0.0.1:9' });
    assert.equal(gone.code, 5);
    assert.match(gone.error, /\(network_error\)\nhttp:\/\/127\.0\.0\.1:9 gave no answer\./);
    assert.equal((await cli(['role', 'list'], { CASTELLAN_API_KEY: 'castellan_x' })).code, 4);
    assert.equal((await cli(['role', 'get', '01234567-89ab-4def-8123-456789abcdef'])).code, 3);
    assert.equal((await cli(['user', 'delete', 'admin@example.com'])).code, 1);
  });
});

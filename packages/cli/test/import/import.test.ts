// `castellan import` and `castellan export` on the database of a running service: exports of every known system, the
// first sign-in with an old password, refused rows, interrupted runs, and the way back out.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exportRecords } from '@castellan/server/modules/transfer/service';
import type { TestClient } from '@castellan/testing/client';
import {
  ADMIN,
  eventually,
  PASSWORD,
  signIn,
  startTestService,
  TEST_SECRET_KEY,
  type TestService,
} from '@castellan/testing/harness';
import { ABSENT_ID } from '@castellan/testing/http/fixture';
import { assertSound } from '@castellan/testing/invariants';
import { readyClient } from '@castellan/testing/sessions/accounts';
import { logIn } from '@castellan/testing/sessions/attempts';
import { declaration as exporting } from '../../src/commands/local/export.ts';
import { declaration as importing } from '../../src/commands/local/import.ts';
import { formats } from '../../src/import/formats/index.ts';
import { castellan, launch } from '../castellan.ts';

const sample = (name: string): string => fileURLToPath(new URL(`samples/${name}`, import.meta.url));

const hooks: (() => Promise<void>)[] = [];
let service: TestService;
let client: TestClient;
let folder: string;
before(async () => {
  service = await startTestService({ after: (hook) => void hooks.push(hook) });
  client = await readyClient(service);
  folder = await mkdtemp(join(tmpdir(), 'castellan-import-'));
});
after(async () => {
  for (const hook of hooks) await hook();
  await rm(folder, { recursive: true, force: true });
});

const environmentOf = ({ databaseUrl }: TestService): Record<string, string> => ({
  DATABASE_URL: databaseUrl,
  SECRET_KEY: TEST_SECRET_KEY,
});

type Values = Record<string, string | boolean>;
type Line = {
  row: number;
  verdict: string;
  name: string | null;
  id?: string;
  note?: string;
  errors?: { code: string }[];
};
type Result = { error: string | null; printed: string; verdicts: Line[] };

let runs = 0;

/** Runs a command in this process, which saves the start of one. Imports write their verdicts to a report. */
async function run(name: string, values: Values, on = service): Promise<Result> {
  const [first, second = ''] = name.split(' ');
  const command = (first === 'import' ? importing : exporting).commands[second];
  assert.ok(command);
  runs += 1;
  const report = values.report ?? join(folder, `report-${runs}.ndjson`);
  let printed = '';
  let error: string | null = null;
  try {
    await command.run({
      values: name.startsWith('import') ? { ...values, report } : values,
      arguments: {},
      environment: environmentOf(on),
      print: (text) => {
        printed += `${text}\n`;
      },
    });
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown);
  }
  const verdicts = name.startsWith('import') ? await verdictsIn(String(report)) : [];
  return { error, printed, verdicts };
}

async function verdictsIn(report: string): Promise<Line[]> {
  const text = await readFile(report, 'utf8').catch(() => '');
  const [, ...lines] = text.trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line));
}

async function fileOf(name: string, rows: readonly unknown[]): Promise<string> {
  const path = join(folder, name);
  await writeFile(
    path,
    rows.map((row) => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`).join(''),
  );
  return path;
}

async function hashOf(email: string): Promise<string | null | undefined> {
  const [row] = await service.sql<{ password_hash: string | null }>(
    'select password_hash from users where email = $1',
    [email],
  );
  return row?.password_hash;
}

const KESTREL = 'Kestrel-Über-42!';

type Sample = { from: string; options: Values; people: Record<string, string | null>; refused?: string[] };

/** Each person with the password, or null for those who have none. */
const samples: Record<string, Sample> = {
  keycloak: {
    from: 'keycloak.json',
    options: { format: 'keycloak' },
    people: {
      'sha256.keycloak@example.com': KESTREL,
      'sha512.keycloak@example.com': KESTREL,
      'sha1.keycloak@example.com': KESTREL,
      'argon.keycloak@example.com': KESTREL,
      'nopassword.keycloak@example.com': null,
    },
    refused: ['invalid_email'],
  },
  auth0: {
    from: 'auth0.ndjson',
    options: { format: 'auth0', credentials: sample('auth0-hashes.ndjson') },
    people: { 'ada.auth0@example.com': KESTREL },
  },
  firebase: {
    from: 'firebase.json',
    options: { format: 'firebase', credentials: sample('firebase-hash-config.txt') },
    people: { 'ada.firebase@example.com': 'user1password', 'google.firebase@example.com': null },
  },
  supabase: {
    from: 'supabase.csv',
    options: { format: 'supabase' },
    people: {
      'ada.supabase@example.com': KESTREL,
      'moved.supabase@example.com': 'mytestpassword',
      'banned.supabase@example.com': null,
    },
  },
  logto: {
    from: 'logto.csv',
    options: { format: 'logto' },
    people: { 'ada.logto@example.com': KESTREL, 'legacy.logto@example.com': KESTREL },
    refused: ['hash_unsupported'],
  },
  'better-auth': {
    from: 'better-auth-user.json',
    options: { format: 'better-auth', credentials: sample('better-auth-account.json') },
    people: { 'ada.better@example.com': KESTREL, 'grace.better@example.com': 'ﬁfty-Kestrels-Å9' },
  },
  Django: {
    from: 'django.json',
    options: {
      map: 'email=fields.email,first_name=fields.first_name,last_name=fields.last_name,password_hash=fields.password,is_active=fields.is_active,created_at=fields.date_joined',
    },
    people: { 'ada.django@example.com': KESTREL, 'gone.django@example.com': null },
  },
  Laravel: {
    from: 'laravel.csv',
    options: { map: 'email=email,name=name,password_hash=password,verified=email_verified_at' },
    people: { 'ada.laravel@example.com': KESTREL },
  },
};

describe('exports of other systems', () => {
  for (const [system, { from, options, people, refused = [] }] of Object.entries(samples))
    test(`${system}: people sign in with their old passwords, which get new hashes`, async () => {
      const { error, verdicts } = await run('import users', { from: sample(from), ...options });
      assert.equal(error?.includes('rows were refused') ?? false, refused.length > 0, String(error));
      assert.deepEqual(
        verdicts.flatMap(({ errors = [] }) => errors.map(({ code }) => code)),
        refused,
      );
      for (const [email, password] of Object.entries(people)) {
        const imported = await hashOf(email);
        if (password === null) assert.equal(imported, null, email);
        else await assertSignsIn(email, password, imported);
      }
    });

  async function assertSignsIn(email: string, password: string, imported: string | null | undefined) {
    assert.ok(imported, email);
    assert.equal((await logIn(client, email, `${password}x`)).body.code, 'invalid_credentials', email);
    assert.equal(await hashOf(email), imported, 'a wrong password changed the hash');
    assert.equal((await logIn(client, email, password)).status, 200, email);
    const own = await hashOf(email);
    assert.notEqual(own, imported);
    assert.match(own ?? '', /^\$argon2id\$v=19\$/);
    assert.equal((await logIn(client, email, password)).status, 200, `${email}, again`);
  }

  test('a password that is replaced during the first sign-in stays', async () => {
    const email = 'raced@example.com';
    const from = await fileOf('raced.ndjson', [
      { email, password_hash: '$2a$05$retX0CBykoCOp2JgLI9Wi.wkbS3WnwaWVrTb9ITUTXF4JuOP8/ekO' },
    ]);
    await run('import users', { from });
    const { hasher } = service.service.deps;
    const { hash } = hasher;
    const replaced = await hash('Another#Basalt93Lime');
    // Between the verification and the new hash.
    hasher.hash = async (password, turn) => {
      await service.sql('update users set password_hash = $2 where email = $1', [email, replaced]);
      return hash(password, turn);
    };
    try {
      assert.equal((await logIn(client, email, KESTREL)).status, 200);
    } finally {
      hasher.hash = hash;
    }
    assert.equal(await hashOf(email), replaced);
  });

  test('passwords are left out only if the operator says so', async () => {
    const values = { from: sample('auth0.ndjson'), format: 'auth0' };
    assert.match(
      (await run('import users', values)).error ?? '',
      /needs --credentials <file>, the export of/,
    );
    const { verdicts } = await run('import users', { ...values, 'without-passwords': true });
    assert.deepEqual(
      verdicts.map(({ verdict }) => verdict),
      ['exists', 'exists'],
    );
  });

  test('names, states and times are those of the source', async () => {
    const rows = await service.sql(
      `select email, first_name, last_name, is_active, verified, must_change_password, created_at::date::text as since
       from users where email in ('sha1.keycloak@example.com', 'grace.auth0@example.com', 'banned.supabase@example.com',
         'grace.laravel@example.com', 'ada.supabase@example.com') order by email`,
    );
    assert.deepEqual(
      rows.map((row) => Object.values(row).join(' | ')),
      [
        'ada.supabase@example.com | Ada | O\'Base, "the" first | true | true | false | 2023-05-06',
        'banned.supabase@example.com | banned.supabase |  | false | false | false | 2023-05-06',
        'grace.auth0@example.com | grace.auth0 |  | false | false | false | 2021-01-02',
        `grace.laravel@example.com | Grace |  | true | false | false | ${new Date().toISOString().slice(0, 10)}`,
        'sha1.keycloak@example.com | Sha1 | Keycloak | true | true | true | 2023-07-22',
      ],
    );
    assert.equal((await hashOf('root.django@example.com')) !== null, true);
    const [{ superusers } = { superusers: 0 }] = await service.sql<{ superusers: number }>(
      'select count(*)::int as superusers from users where is_superuser',
    );
    assert.equal(superusers, 1, 'a superuser of Django became one here');
  });

  test('a changed password keeps the imported one in the history', async () => {
    const email = 'history@example.com';
    const from = await fileOf('history.ndjson', [
      { email, password_hash: '$2b$05$0sJMdtCPv9DQ2JQ9yq8rnuotiGBiKjVmAT63bQzO9am/1Rn1IVi.6' },
    ]);
    await run('import users', { from });
    const { body } = await logIn(client, email, KESTREL);
    const headers = { authorization: `Bearer ${body.data.access_token}` };
    const change = (current_password: string, new_password: string, using = headers) =>
      client.post('/api/v1/auth/change_password', { current_password, new_password }, { headers: using });
    const changed = await change(KESTREL, PASSWORD);
    assert.equal(changed.status, 200, changed.text);
    const next = { authorization: `Bearer ${changed.body.data.access_token}` };
    assert.equal((await change(PASSWORD, KESTREL, next)).body.code, 'password_rejected');
  });

  test('neither the audit log nor a report contains a hash', async () => {
    const [{ found } = { found: -1 }] = await service.sql<{ found: number }>(
      `select count(*)::int as found from audit_logs a where a::text ~ '\\$(2[aby]|argon2|pbkdf2|scrypt|fbscrypt)'`,
    );
    assert.equal(found, 0);
    const reports = (await readdir(folder)).filter((name) => name.startsWith('report-'));
    assert.ok(reports.length > 8);
    for (const name of reports) {
      assert.doesNotMatch(await readFile(join(folder, name), 'utf8'), /\$(2[aby]|argon2|pbkdf2|scrypt)/);
      assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600);
    }
  });
});

describe('rows', () => {
  test('wrong ones are refused, existing ones are left alone, and the others go in with their roles', async () => {
    const id = '0b0e7f1c-0000-4000-8000-000000000001';
    await service.sql(`insert into roles (id, name) values (gen_random_uuid(), 'Clerk')`);
    const from = await fileOf('rows.ndjson', [
      { email: 'first@example.com', id, roles: ['user', 'Clerk'] },
      { email: 'FIRST@example.com', first_name: 'Other' },
      { email: 'second@example.com', id: id.toUpperCase() },
      { email: 'third@example.com', roles: ['User', 'No such role'] },
      { email: 'fourth@example.com', roles: ['Admin', 'Manager'] },
      '{"email":"fifth@example.com',
      { email: 'sixth@example.com', roles: [] },
      { email: 'admin@example.com', first_name: 'Thief' },
    ]);
    const dry = await run('import users', { from, 'dry-run': true });
    assert.deepEqual(
      dry.verdicts.map(({ verdict }) => verdict),
      ['would_create', 'exists', 'would_create', 'refused', 'refused', 'refused', 'would_create', 'exists'],
    );
    assert.equal(await hashOf('first@example.com'), undefined, 'the dry run wrote');
    const { error, printed, verdicts } = await run('import users', { from });
    assert.match(error ?? '', /^rows were refused: 3\./);
    assert.match(printed, /^8 rows: 3 created, 2 exist already, 3 refused\./);
    assert.deepEqual(
      verdicts.map(({ verdict, errors }) => errors?.map(({ code }) => code).join() ?? verdict),
      [
        'created',
        'exists',
        'created',
        'unknown_role',
        'needs_privileged,needs_privileged',
        'unreadable',
        'created',
        'exists',
      ],
    );
    assert.equal(verdicts[0]?.id, id);
    assert.equal(verdicts[1]?.id, id);
    assert.ok(verdicts[2]?.note, 'the second row has the id of the first');
    const rows = await service.sql<{ email: string; first_name: string; roles: string }>(
      `select u.email, u.first_name, string_agg(r.name, ' ' order by r.name) as roles
       from users u left join user_roles ur on ur.user_id = u.id left join roles r on r.id = ur.role_id
       where u.email in ('first@example.com', 'second@example.com', 'sixth@example.com', 'admin@example.com')
       group by 1, 2 order by 1`,
    );
    assert.deepEqual(rows, [
      { email: 'admin@example.com', first_name: 'First', roles: 'Admin' },
      { email: 'first@example.com', first_name: 'first', roles: 'Clerk User' },
      { email: 'second@example.com', first_name: 'second', roles: 'User' },
      { email: 'sixth@example.com', first_name: 'sixth', roles: null },
    ]);
    const [entry] = await service.sql<{ details: object }>(
      `select details from audit_logs where action = 'users_imported' order by "timestamp" desc limit 1`,
    );
    assert.deepEqual(entry?.details, { count: 3, source: 'file', via: 'command_line' });
  });

  test('attributes go in with the rows, by the rules of the catalogue, and out with an export', async () => {
    const admin = await signIn(service, ADMIN);
    for (const one of [
      { name: 'crew', type: 'string', unique: true },
      { name: 'shifts', type: 'json' },
    ])
      assert.equal((await admin.post('/api/v1/user-attributes', { ...one, label: one.name })).status, 201);
    const person = (email: string, attributes: unknown) => ({ email, first_name: 'A', attributes });
    const from = await fileOf('attributes.ndjson', [
      person('one.attributes@example.com', { crew: 'Red', shifts: { monday: [1, 2] } }),
      person('two.attributes@example.com', '{"crew": "Blue"}'),
      person('three.attributes@example.com', { crew: 'RED' }),
      person('four.attributes@example.com', { crew: 4, nowhere: 1 }),
      person('five.attributes@example.com', 'no object'),
      person('six.attributes@example.com', { shifts: '\u0000' }),
      person('seven.attributes@example.com', null),
    ]);
    const verdictOf = ({ verdict, errors }: Line) => [verdict, ...(errors ?? []).map(({ code }) => code)];
    const expected = (created: string) => [
      [created],
      [created],
      ['refused', 'user_attribute_taken'],
      ['refused', 'wrong_type', 'unknown_attribute'],
      ['refused', 'wrong_type'],
      ['refused', 'wrong_type'],
      [created],
    ];
    const tried = await run('import users', { from, 'dry-run': true });
    assert.deepEqual(tried.verdicts.map(verdictOf), expected('would_create'), tried.error ?? '');
    const done = await run('import users', { from });
    assert.deepEqual(done.verdicts.map(verdictOf), expected('created'));
    const to = join(folder, 'attributes-out.ndjson');
    assert.equal((await run('export users', { to })).error, null);
    const out = (await readFile(to, 'utf8')).trimEnd().split('\n');
    const rows = out.map((line): { email: string; attributes: unknown } => JSON.parse(line));
    const of = (email: string) => rows.find((row) => row.email === email)?.attributes;
    assert.deepEqual(of('one.attributes@example.com'), { crew: 'Red', shifts: { monday: [1, 2] } });
    assert.deepEqual(of('two.attributes@example.com'), { crew: 'Blue' });
    assert.deepEqual(of('seven.attributes@example.com'), {});
    // The other tests import into services that have not declared them.
    for (const { id } of (await admin.get('/api/v1/user-attributes')).body.data)
      assert.equal((await admin.delete(`/api/v1/user-attributes/${id}?force=true`)).status, 200);
  });

  test('a row that gave way to one with wrong attributes goes in, in a dry run too', async () => {
    const admin = await signIn(service, ADMIN);
    const made = await admin.post('/api/v1/user-attributes', { name: 'desk', label: 'D', type: 'integer' });
    assert.equal(made.status, 201, made.text);
    const from = await fileOf('rivals.ndjson', [
      { email: 'rival@example.com', external_id: 'r-1', attributes: { desk: 'x' } },
      { email: 'rival@example.com', attributes: { desk: 'y' } },
      { email: 'other.rival@example.com', external_id: 'r-1' },
      { email: 'rival@example.com', attributes: { desk: 1 } },
      { email: 'Rival@example.com', attributes: { desk: 2 } },
    ]);
    const verdictsOf = (lines: readonly Line[]) => lines.map(({ verdict }) => verdict);
    const tried = await run('import users', { from, 'dry-run': true });
    const dry = ['refused', 'refused', 'would_create', 'would_create', 'exists'];
    assert.deepEqual(verdictsOf(tried.verdicts), dry, tried.error ?? '');
    const { verdicts } = await run('import users', { from });
    assert.deepEqual(verdictsOf(verdicts), ['refused', 'refused', 'created', 'created', 'exists']);
    const [rival] = await service.sql<{ id: string }>(
      `select id from users where email = 'rival@example.com'`,
    );
    assert.deepEqual([verdicts[3]?.id, verdicts[4]?.id], [rival?.id, rival?.id]);
    const gone = await admin.delete(`/api/v1/user-attributes/${made.body.data.id}?force=true`);
    assert.equal(gone.status, 200);
  });

  test('a dry run remembers from batch to batch who would be created, and no others', async () => {
    const admin = await signIn(service, ADMIN);
    const made = await admin.post('/api/v1/user-attributes', {
      ...{ name: 'locker', label: 'L', type: 'integer', unique: true },
    });
    assert.equal(made.status, 201, made.text);
    const filler = Array.from({ length: 1_000 }, (_, i) => ({ email: `filler${i}@dry.example.com` }));
    const from = await fileOf('batches.ndjson', [
      { email: 'one@dry.example.com', attributes: { locker: 1 } },
      { email: 'two@dry.example.com', attributes: { locker: 'x' } },
      ...filler,
      { email: 'three@dry.example.com', attributes: { locker: 1 } },
      { email: 'two@dry.example.com', attributes: { locker: 2 } },
      { email: 'one@dry.example.com' },
    ]);
    const { verdicts } = await run('import users', { from, 'dry-run': true });
    assert.deepEqual(
      verdicts.filter(({ name }) => !name?.startsWith('filler')).map(({ name, verdict }) => [name, verdict]),
      [
        ['one@dry.example.com', 'would_create'],
        ['two@dry.example.com', 'refused'],
        ['three@dry.example.com', 'refused'],
        ['two@dry.example.com', 'would_create'],
        ['one@dry.example.com', 'exists'],
      ],
    );
    assert.equal((await admin.delete(`/api/v1/user-attributes/${made.body.data.id}`)).status, 200);
  });

  test('both spellings of an internationalized domain are one user, shown with its letters', async () => {
    const from = await fileOf('domains.ndjson', [
      { email: 'joerg@xn--mnchen-3ya.example' },
      { email: 'Joerg@MÜNCHEN.example' },
      { email: 'joerg@ｍünchen.example' },
    ]);
    const { verdicts } = await run('import users', { from });
    assert.deepEqual(
      verdicts.map(({ verdict, name }) => [verdict, name]),
      [
        ['created', 'joerg@münchen.example'],
        ['exists', 'joerg@münchen.example'],
        ['refused', 'joerg@ｍünchen.example'],
      ],
    );
    assert.equal(await hashOf('joerg@xn--mnchen-3ya.example'), null);
  });

  test('system roles and superusers need --privileged', async () => {
    const from = await fileOf('privileged.ndjson', [
      { email: 'root@example.com', is_superuser: true, roles: ['Admin'] },
    ]);
    assert.equal((await run('import users', { from })).verdicts[0]?.verdict, 'refused');
    assert.equal((await run('import users', { from, privileged: true })).verdicts[0]?.verdict, 'created');
    await assertSound(service);
  });
});

describe('an interrupted import', () => {
  const people = 6_000;
  const last = `r${people - 1}@interrupted.example.com`;

  test('goes on where it was killed: nobody is missing, nobody is there twice', async () => {
    const rows = Array.from({ length: people }, (_, index) => ({
      email: `r${index}@interrupted.example.com`,
    }));
    const from = await fileOf('interrupted.ndjson', rows);
    const report = join(folder, 'interrupted.report');
    const killed = launch(['import', 'users', '--from', from, '--report', report], environmentOf(service));
    await eventually(async () => (await verdictsIn(report)).length > 0 || undefined, 'the first verdicts');
    killed.child.kill('SIGKILL');
    await killed.ended;
    const before = (await verdictsIn(report).catch(() => [])).length;
    assert.ok(before < people, 'the import ended before it was killed');
    assert.match(
      (await run('import users', { from, report })).error ?? '',
      /exists\. Nothing was changed\. Continue that import with --resume/,
    );
    assert.match(
      (await run('import users', { from, report, resume: true, privileged: true })).error ?? '',
      /is the report of another import/,
    );
    const { error, verdicts } = await run('import users', { from, report, resume: true });
    assert.equal(error, null);
    assert.deepEqual(
      verdicts.map(({ row }) => row),
      rows.map((_, index) => index + 1),
    );
    const [{ count } = { count: 0 }] = await service.sql<{ count: number }>(
      `select count(*)::int as count from users where email like '%@interrupted.example.com'`,
    );
    assert.equal(count, people);
    assert.equal(verdicts.at(-1)?.name, last);
    await assertSound(service);
    const [{ sum } = { sum: 0 }] = await service.sql<{ sum: number }>(
      'select sum(total)::int - (select count(*)::int from users) as sum from user_counts',
    );
    assert.equal(sum, 0, 'the counters are wrong');
  });

  test('a report whose latest line was cut is mended', async () => {
    const report = join(folder, 'interrupted.report');
    const text = await readFile(report, 'utf8');
    const from = join(folder, 'interrupted.ndjson');
    for (const cut of [1, 20]) {
      await writeFile(report, text.slice(0, -cut));
      assert.equal((await run('import users', { from, report, resume: true })).error, null);
      const verdicts = await verdictsIn(report);
      assert.deepEqual([verdicts.length, verdicts.at(-1)?.name], [people, last]);
    }
  });
});

describe('roles and role groups', () => {
  test('in any order; parents, groups and permissions by name', async () => {
    const groups = await fileOf('groups.ndjson', [
      { name: 'Shop 3', parent: 'shop 2' },
      { name: 'Shop 2', parent: 'Shop 1' },
      { name: 'Shop 1' },
      { name: 'Loop A', parent: 'Loop B' },
      { name: 'Loop B', parent: 'Loop A' },
      { name: 'Lost', parent: 'Nowhere' },
      { name: 'standard' },
      { name: ABSENT_ID },
    ]);
    const outcomes = ['created', 'created', 'created', 'refused', 'refused', 'refused', 'exists', 'refused'];
    const dry = await run('import groups', { from: groups, 'dry-run': true });
    assert.deepEqual(
      dry.verdicts.map(({ verdict }) => verdict.replace('would_create', 'created')),
      outcomes,
    );
    const made = await run('import groups', { from: groups });
    assert.deepEqual(
      made.verdicts.map(({ verdict }) => verdict),
      outcomes,
    );
    const roles = await fileOf('roles.ndjson', [
      { name: 'Seller', group: 'Shop 3', permissions: ['users.read', 'Order.List.read'] },
      { name: 'Twice', groups: ['Shop 1', 'Shop 3'] },
      { name: 'Bad', permissions: ['nodot', `${ABSENT_ID}.read`] },
      { name: 'MANAGER' },
      { name: 'Linked', groups: ['Loop A'] },
      { name: ABSENT_ID },
    ]);
    const strict = await run('import roles', { from: roles, 'dry-run': true });
    assert.deepEqual(
      strict.verdicts.map(({ verdict, errors }) => errors?.map(({ code }) => code).join() ?? verdict),
      [
        'needs_privileged,unknown_permission',
        'circular_dependency',
        'unknown_permission,unknown_permission',
        'exists',
        'unknown_role_group',
        'uuid_name',
      ],
    );
    const created = await run('import roles', { from: roles, 'create-permissions': true, privileged: true });
    assert.deepEqual(
      created.verdicts.map(({ verdict, errors }) => errors?.map(({ code }) => code).join() ?? verdict),
      [
        'created',
        'circular_dependency',
        'invalid_permission,invalid_permission',
        'exists',
        'unknown_role_group',
        'uuid_name',
      ],
    );
    const [seller] = await service.sql<{ permissions: string[]; groups: string[]; of_admin: number }>(
      `select array(select p.name from role_permissions rp join permissions p on p.id = rp.permission_id
           where rp.role_id = r.id order by 1) as permissions,
         array(select g.name from role_group_roles l join role_groups g on g.id = l.role_group_id
           where l.role_id = r.id and g.id = r.role_group_id) as groups,
         (select count(*)::int from role_permissions rp join permissions p on p.id = rp.permission_id
           join roles a on a.id = rp.role_id where a.is_system and p.name = 'Order.List.read') as of_admin
       from roles r where r.name = 'Seller'`,
    );
    assert.deepEqual(seller, {
      permissions: ['Order.List.read', 'users.read'],
      groups: ['Shop 3'],
      of_admin: 1,
    });
    await assertSound(service);
  });
});

describe('export', () => {
  test('a file that cannot be written is named, and no setting is blamed', async () => {
    const { error } = await run('export users', { to: join(folder, 'none', 'users.ndjson') });
    assert.match(error ?? '', /^The export cannot be written to .+users\.ndjson: ENOENT/);
  });

  test('an empty service gets the same groups, roles and users', async () => {
    const empty = await startTestService({ after: (hook) => void hooks.push(hook) });
    const admin = await signIn(service, ADMIN);
    const invited = await admin.post('/api/v1/users/invitations', { email: 'nameless@invited.example.com' });
    assert.equal(invited.status, 201, invited.text);
    const leaving = await fileOf('leaving.ndjson', [{ email: 'leaving@example.com' }]);
    await run('import users', { from: leaving });
    await service.sql(
      `update users set is_active = false, deletion_due_at = now() + interval '14 days' where email = 'leaving@example.com'`,
    );
    const exported = async (kind: string, on: TestService, name: string, more: Values = {}) => {
      const to = join(folder, `${name}-${kind}.ndjson`);
      assert.equal((await run(`export ${kind}`, { to, ...more }, on)).error, null);
      assert.equal((await stat(to)).mode & 0o777, 0o600);
      return to;
    };
    const imports: [string, Values][] = [
      ['groups', {}],
      ['roles', { 'create-permissions': true, privileged: true }],
      ['users', { privileged: true }],
    ];
    for (const [kind, options] of imports) {
      const hashes: Values = kind === 'users' ? { 'with-password-hashes': true } : {};
      const from = await exported(kind, service, 'from', hashes);
      const { error } = await run(`import ${kind}`, { from, ...options }, empty);
      assert.equal(error, null, kind);
      const back = await exported(kind, empty, 'back', hashes);
      const lines = async (path: string) =>
        (await readFile(path, 'utf8'))
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line));
      const [original, copy] = [await lines(from), await lines(back)];
      if (kind === 'users') assert.ok(original.some(({ email }) => email === 'joerg@münchen.example'));
      assert.ok(original.length > 3);
      // What the seed creates exists in both, with ids of its own.
      const seeded = new Set((await seededNames(empty)).map(({ name }) => name));
      const others = (rows: { name?: string; email?: string }[]) =>
        rows.filter(({ name, email }) => !seeded.has(name ?? email ?? ''));
      assert.deepEqual(others(copy), others(original), kind);
      assert.equal(copy.length, original.length);
    }
    const emptyClient = await readyClient(empty);
    assert.equal((await logIn(emptyClient, 'ada.django@example.com', KESTREL)).status, 200);
    await assertSound(empty);
  });

  const seededNames = (on: TestService) =>
    on.sql<{ name: string }>(
      `select name from roles where name in ('Admin', 'Manager', 'User', 'Service')
       union select name from role_groups where name in ('Administrative', 'Operational', 'Standard')
       union select 'admin@example.com'`,
    );

  test('has no hashes unless asked, replaces no file, and is in the audit log', async () => {
    const to = join(folder, 'plain.ndjson');
    await run('export users', { to });
    assert.doesNotMatch(await readFile(to, 'utf8'), /password_hash|\$argon2/);
    assert.match((await run('export users', { to })).error ?? '', /plain\.ndjson exists\./);
    const [entry] = await service.sql<{ details: { password_hashes: boolean } }>(
      `select details from audit_logs where action = 'users_exported' order by "timestamp" desc limit 1`,
    );
    assert.equal(entry?.details.password_hashes, false);
  });

  test('one whose reader leaves is in the audit log too', async () => {
    const gone = new Error('the reader has left');
    const write = () => Promise.reject(gone);
    const { db, auditLog } = service.service.deps;
    await assert.rejects(exportRecords({ db, auditLog }, 'users', { withPasswordHashes: true }, write), gone);
    const [entry] = await service.sql<{ details: Record<string, unknown> }>(
      `select details from audit_logs where action = 'users_exported' order by "timestamp" desc limit 1`,
    );
    const { count, ...others } = entry?.details ?? assert.fail();
    assert.ok(Number(count) > 3);
    assert.deepEqual(others, { interrupted: true, password_hashes: true, via: 'command_line' });
  });
});

test('the command offers the formats that there are', () => {
  const option = importing.commands.users?.options?.find(({ flags }) => flags.startsWith('--format'));
  assert.deepEqual(option?.choices, [...formats.keys()]);
});

test('the program: two words, verdicts on standard output, standard input, exit codes', async () => {
  const help = await castellan(['help', 'import', 'users']);
  assert.match(help.out, /^Usage: castellan import users --from <file>/);
  const input = '{"email":"piped@example.com"}\n{"email":"piped"}\n';
  const piped = await castellan(['import', 'users', '--from', '-'], environmentOf(service), input);
  assert.equal(piped.code, 1);
  assert.deepEqual(
    piped.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).verdict),
    ['created', 'refused'],
  );
  assert.match(piped.err, /2 rows: 1 created, 0 exist already, 1 refused\./);
  const wrong = await castellan(
    ['import', 'users', '--from', '-', '--format', 'ldap'],
    environmentOf(service),
  );
  assert.deepEqual([wrong.code, wrong.out], [2, '']);
  assert.match(wrong.err, /'ldap' is invalid\. Allowed choices are keycloak, auth0, firebase/);
});

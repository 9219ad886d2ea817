// The exported holders of a permission or a role: the same as the pages, as NDJSON or as CSV that is harmless in a
// spreadsheet.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { makeRole } from '@castellan/testing/records/fixture';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const [explain] = await service.sql<{ id: string }>(
  `select id from permissions where name = 'access.explain'`,
);
const PERMISSION = `/api/v1/permissions/${explain?.id}/holders`;

const exported = (path: string, accept: string | null) => admin.get(path, { headers: { accept } });
/** A text would not show the mark. */
async function bytesOf(path: string, accept: string): Promise<{ status: number; bytes: Buffer }> {
  const headers = { accept, authorization: `Bearer ${admin.accessToken}` };
  const response = await fetch(service.url + path, { headers });
  return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
}
const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

const first = (await makeRole(admin, { name: 'a first, "quoted" one' })).id;
const second = (await makeRole(admin, { name: '=2+5' })).id;
for (const role of [first, second])
  await service.sql('insert into role_permissions (role_id, permission_id) values ($1, $2)', [
    role,
    explain?.id,
  ]);
const ada = await addPerson(service, { firstName: '=SUM(A1)', lastName: '', roles: [second] });
const bob = await addPerson(service, {
  firstName: 'Bob',
  lastName: 'B',
  roles: [first, second],
  active: false,
});
const boss = await addPerson(service, { firstName: '@boss', lastName: 'é', superuser: true });
const machine = await addServiceAccount(service, { name: '-1+1', roles: [first] });

test('NDJSON has the records of the pages', async () => {
  for (const query of ['', '?include=superusers']) {
    const answer = await exported(`${PERMISSION}/export${query}`, null);
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('content-type') ?? '', /^application\/x-ndjson/);
    assert.equal(
      answer.headers.get('content-disposition'),
      'attachment; filename="permission-holders.ndjson"',
    );
    const { body } = await admin.get(`${PERMISSION}?size=100${query.replace('?', '&')}`);
    assert.deepEqual(linesOf(answer.text), body.data);
    assert.equal(
      body.data.some(({ id }: { id: string }) => id === boss.id),
      query !== '',
    );
  }
});

test('CSV has one row for each holder, and no cell that a spreadsheet would run', async () => {
  const answer = await exported(`${PERMISSION}/export?include=superusers`, 'text/csv');
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/csv/);
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="permission-holders.csv"');
  const [columns, ...rows] = answer.text.split('\r\n');
  assert.equal(rows.pop(), '');
  assert.equal(columns, 'type,id,name,email,is_active,superuser,roles');
  const found = new Map(rows.map((row) => [row.split(',')[1], row]));
  assert.equal(found.get(ada.id), `user,${ada.id},'=SUM(A1),${ada.email},true,false,'=2+5`);
  const both = `"'=2+5, a first, ""quoted"" one"`;
  assert.equal(found.get(bob.id), `user,${bob.id},Bob B,${bob.email},false,false,${both}`);
  assert.equal(found.get(boss.id), `user,${boss.id},'@boss é,${boss.email},true,true,`);
  const named = `"a first, ""quoted"" one"`;
  assert.equal(found.get(machine.id), `service_account,${machine.id},'-1+1,,true,false,${named}`);
});

for (const [accept, isCsv] of [
  ['text/csv;q=0.5, application/x-ndjson', false],
  ['application/x-ndjson;q=0.5, text/csv', true],
  ['*/*', false],
  ['text/*', true],
  ['text/csv;q=0', false],
] as const)
  test(`Accept: ${accept} gets ${isCsv ? 'CSV' : 'NDJSON'}`, async () => {
    const answer = await exported(`/api/v1/roles/${first}/holders/export`, accept);
    assert.match(answer.headers.get('content-type') ?? '', isCsv ? /^text\/csv/ : /^application\/x-ndjson/);
    assert.match(answer.headers.get('vary') ?? '', /accept/i);
  });

test('an export of many holders has each once, in the order of the pages', async () => {
  const role = await addRole(service);
  await service.sql(
    `with crowd as (
       insert into users (id, email, first_name, last_name)
       select gen_random_uuid(), 'many-' || n || '@example.com', 'Some', 'Body' from generate_series(1, 2345) n
       returning id)
     insert into user_roles (user_id, role_id) select id, $1 from crowd`,
    [role],
  );
  const expected = await service.sql<{ user_id: string }>(
    'select user_id from user_roles where role_id = $1 order by user_id',
    [role],
  );
  const answer = await exported(`/api/v1/roles/${role}/holders/export`, null);
  assert.deepEqual(
    linesOf(answer.text).map(({ id }) => id),
    expected.map(({ user_id }) => user_id),
  );
  const csv = await exported(`/api/v1/roles/${role}/holders/export`, 'text/csv');
  assert.equal(csv.text.split('\r\n').length, 2345 + 2);
});

test('exports of holders and of the audit log share the turns of a user', async () => {
  const { exports } = service.service.deps;
  const leaves = await Promise.all(
    [1, 2].map(async () =>
      exports.gate.enter((await admin.get('/api/v1/users/me')).body.data.id, new AbortController().signal),
    ),
  );
  try {
    const answer = await exported(`${PERMISSION}/export`, null);
    assert.equal(answer.status, 503, answer.text);
    assert.equal(answer.headers.get('content-disposition'), null);
  } finally {
    for (const leave of leaves) leave();
  }
  assert.equal((await exported(`${PERMISSION}/export`, null)).status, 200);
});

test('CSV begins with one byte order mark on request, NDJSON never', async () => {
  const mark = [0xef, 0xbb, 0xbf];
  for (const path of [PERMISSION, `/api/v1/roles/${first}/holders`, '/api/v1/audit-logs'])
    for (const [type, query, isMarked] of [
      ['text/csv', '?bom=true', true],
      ['text/csv', '?bom=false', false],
      ['text/csv', '', false],
      ['application/x-ndjson', '?bom=true', false],
    ] as const) {
      const { status, bytes } = await bytesOf(`${path}/export${query}`, type);
      assert.equal(status, 200);
      const what = `${path} ${type} ${query}`;
      assert.equal(bytes.indexOf(Buffer.from(mark)) === 0, isMarked, what);
      assert.equal(bytes.indexOf(Buffer.from(mark), 3), -1, what);
    }
  assertRefused(await exported(`${PERMISSION}/export?bom=x`, 'text/csv'), 422, 'validation_failed');
});

// Decisions: POST /api/v1/access/v1/evaluation and /evaluations.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ADMIN, newEmail, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { statementsOf } from '@castellan/testing/statements';
import { addPerson, addRole, eventsOf, signedInWith } from '@castellan/testing/users/people';
import { asking, question } from './authzen.ts';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const twin = await service.another();
const admin = await signIn(service, ADMIN);

/** Creates a permission group with these permissions. Returns its name. */
async function addGroup(name: string, ...actions: string[]): Promise<string> {
  const group = await admin.post('/api/v1/permission-groups', { name });
  assert.equal(group.status, 201, group.text);
  for (const action of actions) {
    const made = await admin.post('/api/v1/permissions', { name: action, group_id: group.body.data.id });
    assert.equal(made.status, 201, made.text);
  }
  return name;
}
await addGroup('record', 'read', 'write', 'delete');
await addGroup('record.archive', 'read', 'Restore');

const checker = await addServiceAccount(service, { permissions: ['access.check'] });
const ask = asking(service, checker.key);

const editor = await addRole(service, 'record.read', 'record.write', 'record.archive.Restore');
const reader = await addRole(service, 'record.read');
const alice = await addPerson(service, { roles: [editor] });
const bob = await addPerson(service, { roles: [reader] });
const gone = await addPerson(service, { roles: [editor], active: false });
const boss = await addPerson(service, { superuser: true });
const pending = await addPerson(service, { roles: [reader], verified: false });
const robot = await addServiceAccount(service, { name: 'Robot of records', roles: [reader] });
const asleep = await addServiceAccount(service, { roles: [reader], active: false });

const table: [type: string, id: string, permission: string, decision: boolean, reason: string][] = [
  ['user', alice.id, 'record.read', true, 'granted'],
  ['user', alice.email.toUpperCase(), 'record.write', true, 'granted'],
  ['user', bob.email, 'record.read', true, 'granted'],
  ['user', bob.id.toUpperCase(), 'record.write', false, 'not_granted'],
  ['user', alice.id, 'record.delete', false, 'not_granted'],
  ['user', alice.id, 'RECORD.Read', true, 'granted'],
  ['user', alice.id, 'record.archive.restore', true, 'granted'],
  ['user', alice.id, 'record.archive.read', false, 'not_granted'],
  ['user', alice.id, 'record.print', false, 'unknown_permission'],
  ['user', alice.id, 'rec.read', false, 'unknown_permission'],
  ['user', boss.id, 'record.delete', true, 'superuser'],
  ['user', boss.id, 'record.print', false, 'unknown_permission'],
  ['user', gone.id, 'record.read', false, 'inactive'],
  ['user', pending.id, 'record.read', true, 'granted'],
  ['user', newEmail(), 'record.read', false, 'unknown_subject'],
  ['user', randomUUID(), 'record.print', false, 'unknown_subject'],
  ['user', '', 'record.read', false, 'unknown_subject'],
  ['service_account', robot.id, 'record.read', true, 'granted'],
  ['service_account', 'ROBOT of records', 'record.read', true, 'granted'],
  ['service_account', robot.id, 'record.write', false, 'not_granted'],
  ['service_account', asleep.id, 'record.read', false, 'inactive'],
  ['service_account', alice.id, 'record.read', false, 'unknown_subject'],
  ['role', editor, 'record.write', true, 'granted'],
  ['role', `role ${reader}`, 'record.write', false, 'not_granted'],
  ['role', 'nobody has this role', 'record.read', false, 'unknown_subject'],
  ['device', alice.id, 'record.read', false, 'unknown_subject'],
  ['', alice.id, 'record.read', false, 'unknown_subject'],
];

test('each subject gets the decision and the reason of the rule, with nothing else around it', async () => {
  for (const [type, id, permission, decision, reason] of table) {
    const answer = await ask('evaluation', question(type, id, permission));
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
    assert.deepEqual(Object.keys(answer.body), ['decision', 'context']);
    assert.equal(answer.body.decision, decision, `${type} ${id} ${permission}: ${answer.text}`);
    assert.equal(answer.body.context.reason, reason, `${type} ${id} ${permission}`);
  }
});

test('the context names the permission as it is in the catalogue', async () => {
  const { body } = await ask('evaluation', question('user', alice.id, 'RECORD.ARCHIVE.restore'));
  assert.deepEqual(body.context, { reason: 'granted', permission: 'record.archive.Restore' });
  const { body: unknown } = await ask('evaluation', question('user', alice.id, 'Record.Print'));
  assert.deepEqual(unknown.context, { reason: 'unknown_permission', permission: 'Record.Print' });
});

test('context, properties, resource.id and unknown members change no decision, and it is the same again', async () => {
  for (const [type, id, permission, decision] of table.slice(0, 6)) {
    const plain = question(type, id, permission);
    const more = {
      subject: { ...plain.subject, properties: { role: 'admin' }, decision: true },
      action: { ...plain.action, properties: { soft: true } },
      resource: { ...plain.resource, id: 'another', properties: { status: 'archived' } },
      context: { time: '2026-01-31T08:00:00Z', decision: !decision },
      decision: !decision,
      unknown: [1, { two: null }],
    };
    for (const body of [plain, more, plain])
      assert.equal((await ask('evaluation', body)).body.decision, decision);
  }
});

test('X-Request-ID comes back, and a bearer token is the only way to ask', async () => {
  const client = service.client();
  const post = (headers: Record<string, string | null>) =>
    client.request('POST', '/api/v1/access/v1/evaluation', {
      json: question('user', alice.id, 'record.read'),
      headers: { 'x-csrf-token': null, ...headers },
    });
  const answer = await post({ authorization: `Bearer ${checker.key}`, 'x-request-id': 'my-request.7' });
  assert.deepEqual([answer.status, answer.headers.get('x-request-id')], [200, 'my-request.7']);
  const refused = await post({
    cookie: [...admin.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
  });
  assertRefused(refused, 401, 'token_missing');
  assert.equal(refused.headers.get('www-authenticate'), 'Bearer');
});

test('everybody may ask about themselves; about others they need access.check', async () => {
  const { client, person } = await signedInWith(service, 'record.read');
  const mine = asking(service, client.accessToken);
  for (const id of [person.id, person.id.toUpperCase(), person.email, ` ${person.email.toUpperCase()}`]) {
    assert.equal((await mine('evaluation', question('user', id, 'record.read'))).body.decision, true);
    assert.equal((await mine('evaluation', question('user', id, 'record.write'))).body.decision, false);
  }
  const robots = asking(service, robot.key);
  for (const id of [robot.id, 'robot OF records'])
    assert.equal((await robots('evaluation', question('service_account', id, 'record.read'))).status, 200);
  for (const [who, type, id] of [
    [mine, 'user', alice.id],
    [mine, 'user', newEmail()],
    [mine, 'role', reader],
    [mine, 'service_account', person.id],
    [mine, 'device', person.id],
    [robots, 'user', robot.id],
    [robots, 'service_account', checker.name],
  ] as const) {
    const answer = await who('evaluation', question(type, id, 'record.read'));
    assertRefused(answer, 403, 'permission_denied');
    assert.equal(answer.body.required_permission, 'access.check');
  }
});

test('a refused question is an audit event that names the permission', async () => {
  const { client, person } = await signedInWith(service);
  const answer = await asking(service, client.accessToken)('evaluation', question('user', alice.id, 'a.b'));
  const [event] = await eventsOf(service, answer);
  assert.deepEqual([event?.action, event?.actor_id], ['permission_denied', person.id]);
  assert.equal(event?.details.permission, 'access.check');
});

test('a narrowed key asks about itself what it may do, and about others only if it may check', async () => {
  const account = await addServiceAccount(service, {
    permissions: ['record.read', 'record.write', 'access.check'],
  });
  const own = (permission: string) => question('service_account', account.id, permission);
  const narrow = asking(service, (await addApiKey(service, account.id, { narrowedTo: ['record.read'] })).key);
  assert.equal((await narrow('evaluation', own('record.read'))).body.decision, true);
  const { body } = await narrow('evaluation', own('record.write'));
  assert.deepEqual([body.decision, body.context.reason], [false, 'not_granted']);
  assertRefused(
    await narrow('evaluation', question('user', alice.id, 'record.read')),
    403,
    'permission_denied',
  );
  const wide = asking(service, (await addApiKey(service, account.id, { narrowedTo: ['access.check'] })).key);
  assert.equal((await wide('evaluation', question('user', alice.id, 'record.read'))).body.decision, true);
  assert.equal((await wide('evaluation', own('record.write'))).body.decision, false);
  // Others hear about the account, not about one of its keys.
  assert.equal((await ask('evaluation', own('record.write'))).body.decision, true);
});

const good = question('user', alice.id, 'record.read');
const wrong: [string, unknown][] = [
  ['without a subject', { ...good, subject: undefined }],
  ['without an action', { ...good, action: undefined }],
  ['without a resource', { ...good, resource: undefined }],
  ['without subject.type', { ...good, subject: { id: alice.id } }],
  ['without subject.id', { ...good, subject: { type: 'user' } }],
  ['without action.name', { ...good, action: {} }],
  ['without resource.type', { ...good, resource: { id: '1' } }],
  ['without resource.id', { ...good, resource: { type: 'record' } }],
  ['with a text as subject', { ...good, subject: alice.id }],
  ['with a list as subject', { ...good, subject: [good.subject] }],
  ['with null as subject', { ...good, subject: null }],
  ['with a number as action.name', { ...good, action: { name: 1 } }],
  ['with a number as subject.id', { ...good, subject: { type: 'user', id: 1 } }],
  ['with a text as context', { ...good, context: 'now' }],
  ['with a text as properties', { ...good, action: { name: 'read', properties: 'soft' } }],
  ['that is a list', [good]],
  ['that is a text', 'evaluate'],
  ['that is null', null],
];

test('a wrong body is 400, here and in a list without items', async () => {
  for (const [what, body] of wrong)
    for (const path of ['evaluation', 'evaluations']) {
      const answer = await ask(path, body);
      assert.equal(answer.status, 400, `${what}: ${answer.text}`);
      assert.deepEqual(Object.keys(answer.body).slice(0, 3), ['detail', 'code', 'request_id']);
    }
  const { body } = await ask('evaluation', { ...good, subject: { type: 'user' } });
  assert.deepEqual([body.code, body.errors[0].field], ['invalid_input', 'subject.id']);
});

test('a body that is no JSON, of another content type or empty is 400 on every operation', async () => {
  const client = service.client();
  const text = JSON.stringify(good);
  for (const path of ['evaluation', 'evaluations', 'search/subject', 'search/action'])
    for (const [raw, type] of [
      ['{', 'application/json'],
      ['', 'application/json'],
      ['{"subject":}', 'application/json; charset=utf-8'],
      [text, 'text/plain'],
      [text, 'application/x-www-form-urlencoded'],
      [text, 'application/xml'],
      [text, null],
      [undefined, null],
    ] as const) {
      const answer = await client.request('POST', `/api/v1/access/v1/${path}`, {
        ...(raw === undefined ? {} : { raw }),
        headers: { 'content-type': type, 'x-csrf-token': null, authorization: `Bearer ${checker.key}` },
      });
      assert.equal(answer.status, 400, `${path} ${type} ${raw}: ${answer.text}`);
    }
});

test('a list uses the entities of the request, and each item replaces whole ones', async () => {
  const { status, body } = await ask('evaluations', {
    subject: { type: 'user', id: bob.id, properties: { role: 'admin' } },
    resource: { type: 'record', id: '1' },
    action: { name: 'read' },
    context: {},
    evaluations: [
      {},
      { action: { name: 'write' } },
      { subject: { type: 'user', id: alice.id }, action: { name: 'write' } },
      { resource: { type: 'record.archive', id: '1' } },
      { subject: { type: 'user', id: boss.email }, unknown: 1 },
    ],
  });
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body), ['evaluations']);
  assert.deepEqual(
    body.evaluations.map((one: { decision: boolean; context: { reason: string } }) => [
      one.decision,
      one.context.reason,
    ]),
    [
      [true, 'granted'],
      [false, 'not_granted'],
      [true, 'granted'],
      [false, 'not_granted'],
      [true, 'superuser'],
    ],
  );
});

test('an item that cannot be evaluated is a deny with the error, and the others are decided', async () => {
  const { subject, ...rest } = good;
  const { status, body } = await ask('evaluations', {
    ...rest,
    evaluations: [
      { subject },
      {},
      { subject: { type: 'user' } },
      { subject: alice.id },
      { subject: null },
      { subject, action: { name: 7 } },
      { subject, context: 'now' },
      'item',
      null,
      [],
      { subject },
    ],
  });
  assert.equal(status, 200);
  assert.deepEqual(
    body.evaluations.map((one: { decision: boolean }) => one.decision),
    [true, ...Array(9).fill(false), true],
  );
  for (const { context } of body.evaluations.slice(1, -1)) {
    assert.deepEqual(Object.keys(context), ['error']);
    assert.equal(context.error.status, 400);
    assert.match(context.error.message, /^[a-zA-Z].+\.$/);
  }
  assert.match(body.evaluations[2].context.error.message, /subject\.id is required/);
  const onlyFaults = await ask('evaluations', { evaluations: [{}, 1] });
  assert.equal(onlyFaults.status, 200);
});

test('a list without items is a single evaluation', async () => {
  for (const evaluations of [undefined, []]) {
    const { body } = await ask('evaluations', { ...good, evaluations });
    assert.deepEqual(body, { decision: true, context: { reason: 'granted', permission: 'record.read' } });
  }
});

test('the semantics decide where a list ends', async () => {
  const items = ['read', 'write', 'read', 'delete'].map((name) => ({ action: { name } }));
  const { subject, resource } = question('user', bob.id, 'record.read');
  for (const [evaluations_semantic, evaluations, expected] of [
    ['execute_all', items, [true, false, true, false]],
    ['deny_on_first_deny', items, [true, false]],
    ['deny_on_first_deny', [items[0], { action: 1 }, items[2]], [true, false]],
    ['deny_on_first_deny', [items[0], items[2]], [true, true]],
    ['permit_on_first_permit', items, [true]],
    ['permit_on_first_permit', items.slice(1), [false, true]],
    ['permit_on_first_permit', [items[1], items[3]], [false, false]],
  ] as const) {
    const { body } = await ask('evaluations', {
      subject,
      resource,
      evaluations,
      options: { evaluations_semantic, another: 1 },
    });
    assert.deepEqual(
      body.evaluations.map((one: { decision: boolean }) => one.decision),
      expected,
      evaluations_semantic,
    );
  }
  for (const options of [{ evaluations_semantic: 'first' }, { evaluations_semantic: 1 }, 'execute_all'])
    assertRefused(await ask('evaluations', { ...good, evaluations: [{}], options }), 400, 'invalid_input');
});

test('a list that is no list, or too long, is 400 and names the limit', async () => {
  for (const evaluations of [{}, 'all', 7])
    assertRefused(await ask('evaluations', { ...good, evaluations }), 400, 'invalid_input');
  const tooMany = await ask('evaluations', { ...good, evaluations: Array(1_001).fill({}) });
  assertRefused(tooMany, 400, 'invalid_input');
  assert.match(tooMany.body.detail, /evaluations must have at most 1000 items/);
});

test('a thousand evaluations of as many subjects need one statement more than the sign-in', async () => {
  const people = await Promise.all(Array.from({ length: 10 }, () => addPerson(service, { roles: [reader] })));
  const evaluations = Array.from({ length: 1_000 }, (_, index) => ({
    subject: {
      type: 'user',
      id: index % 2 === 0 ? (people[index % people.length]?.email ?? '') : randomUUID(),
    },
  }));
  const { subject: _, ...rest } = good;
  await ask('evaluations', { ...rest, evaluations });
  let decisions: { decision: boolean }[] = [];
  const texts = await statementsOf(async () => {
    decisions = (await ask('evaluations', { ...rest, evaluations })).body.evaluations;
  });
  assert.equal(texts.length, 2);
  assert.equal(decisions.length, 1_000);
  for (const [index, { decision }] of decisions.entries()) assert.equal(decision, index % 2 === 0);
});

test('one other subject in a list needs access.check for the whole list', async () => {
  const { client, person } = await signedInWith(service, 'record.read');
  const mine = asking(service, client.accessToken);
  const own = question('user', person.id, 'record.read');
  const answer = await mine('evaluations', { evaluations: Array(3).fill(own) });
  assert.deepEqual(
    answer.body.evaluations.map((one: { decision: boolean }) => one.decision),
    [true, true, true],
  );
  // Also where the list would have ended before.
  assertRefused(
    await mine('evaluations', {
      evaluations: [own, good],
      options: { evaluations_semantic: 'permit_on_first_permit' },
    }),
    403,
    'permission_denied',
  );
});

test('a change counts at the next decision of every instance, also at its sixth', async () => {
  const role = await addRole(service, 'record.read');
  const person = await addPerson(service, { roles: [role] });
  const reasons = async () =>
    Promise.all(
      [ask, ask.at(twin.url)].map(async (at) => {
        const { body } = await at('evaluation', question('user', person.id, 'record.read'));
        return body.context.reason;
      }),
    );
  for (let time = 0; time < 7; time += 1) assert.deepEqual(await reasons(), ['granted', 'granted']);
  const permission = "(select id from permissions where name = 'record.read')";
  await service.sql(`delete from role_permissions where role_id = $1 and permission_id = ${permission}`, [
    role,
  ]);
  assert.deepEqual(await reasons(), ['not_granted', 'not_granted']);
  await service.sql(`insert into role_permissions (role_id, permission_id) values ($1, ${permission})`, [
    role,
  ]);
  assert.deepEqual(await reasons(), ['granted', 'granted']);
  await service.sql('update users set is_active = false where id = $1', [person.id]);
  assert.deepEqual(await reasons(), ['inactive', 'inactive']);
  await service.sql('update users set is_active = true, is_superuser = true where id = $1', [person.id]);
  assert.deepEqual(await reasons(), ['superuser', 'superuser']);
  await service.sql('update users set is_superuser = false where id = $1', [person.id]);
  await service.sql('delete from user_roles where user_id = $1', [person.id]);
  assert.deepEqual(await reasons(), ['not_granted', 'not_granted']);
  const renamed = await admin.put(`/api/v1/permission-groups/${(await groupOf('record')).id}`, {
    name: 'file',
  });
  assert.equal(renamed.status, 200, renamed.text);
  assert.deepEqual(await reasons(), ['unknown_permission', 'unknown_permission']);
  await admin.put(`/api/v1/permission-groups/${(await groupOf('file')).id}`, { name: 'record' });
});

async function groupOf(name: string): Promise<{ id: string }> {
  const [group] = await service.sql<{ id: string }>('select id from permission_groups where name = $1', [
    name,
  ]);
  assert.ok(group);
  return group;
}

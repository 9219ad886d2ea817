// External ids of users and service accounts: what they may be, who sets them, and that decisions find their subjects by them.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole, eventsOf, signedInWith } from '@castellan/testing/users/people';
import { exportRecords, importUsers } from '../../src/modules/transfer/service.ts';
import { asking, question } from '../access/authzen.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const checker = await addServiceAccount(service, { permissions: ['access.check', 'access.explain'] });
const ask = asking(service, checker.key);

const newId = () => `crm|${randomUUID().slice(0, 13)}`;
const newcomer = (fields: object) => ({
  email: newEmail('external'),
  password: PASSWORD,
  first_name: 'Ada',
  last_name: 'Lovelace',
  ...fields,
});

type Kind = {
  /** The answer to a wrong value. */
  badShape: [status: number, code: string];
  path: string;
  make(fields: object): Promise<Answer>;
  type: string;
  action: string;
};
const kinds: Kind[] = [
  {
    path: '/api/v1/users',
    make: (fields) => admin.post('/api/v1/users', newcomer(fields)),
    type: 'user',
    badShape: [400, 'invalid_input'],
    action: 'user_updated',
  },
  {
    path: '/api/v1/service-accounts',
    make: (fields) => admin.post('/api/v1/service-accounts', { name: `SA ${randomUUID()}`, ...fields }),
    type: 'service_account',
    badShape: [422, 'validation_failed'],
    action: 'service_account_updated',
  },
];

for (const { path, make, type, action, badShape } of kinds) {
  test(`${type}: an external id is set, cleaned, changed, kept and taken away`, async () => {
    const id = newId();
    const made = await make({ external_id: `  ${id} e\u0301 ` });
    assert.equal(made.status, 201, made.text);
    assert.equal(made.body.data.external_id, `${id} é`);
    const one = `${path}/${made.body.data.id}`;
    const other = newId();
    const changed = await admin.put(one, { external_id: other });
    assert.equal(changed.body.data.external_id, other, changed.text);
    const [entry] = await eventsOf(service, changed);
    assert.equal(entry?.action, action);
    assert.deepEqual(entry?.details.before?.external_id, `${id} é`);
    assert.deepEqual(entry?.details.after?.external_id, other);
    assert.equal((await admin.put(one, { is_active: true })).body.data.external_id, other);
    const unchanged = await admin.put(one, { external_id: ` ${other}` });
    assert.deepEqual(await eventsOf(service, unchanged), []);
    assert.equal((await admin.put(one, { external_id: null })).body.data.external_id, null);
    assert.equal((await make({})).body.data.external_id, null);
  });

  test(`${type}: what would be read as an id or an email is refused, and so is no text at all`, async () => {
    const one = `${path}/${(await make({})).body.data.id}`;
    for (const [external_id, code] of [
      [randomUUID(), 'uuid_name'],
      [` ${randomUUID().toUpperCase()}`, 'uuid_name'],
      ['ada@example.com', 'email_name'],
      ['@a.', 'email_name'],
      ['ADA@bücher.example', 'email_name'],
      ['   ', 'too_short'],
      ['x'.repeat(251), 'too_long'],
      ['a\nb', 'control_character'],
    ])
      for (const answer of [await make({ external_id }), await admin.put(one, { external_id })]) {
        assertRefused(answer, ...badShape);
        assert.deepEqual(
          answer.body.errors.map((error: { field: string; code: string }) => [error.field, error.code]),
          [['external_id', code]],
        );
      }
    for (const external_id of [17, true, ['x'], {}, ''])
      assertRefused(await admin.put(one, { external_id }), ...badShape);
    for (const external_id of ['ada@home', 'auth0|5f7c8ec7', '4711', '日本', 'x'.repeat(250)])
      assert.equal((await admin.put(one, { external_id })).status, 200, external_id);
  });

  test(`${type}: no two records of a kind have one, in one case`, async () => {
    const id = newId();
    const [first, second] = [(await make({ external_id: id })).body.data, (await make({})).body.data];
    for (const answer of [
      await make({ external_id: id }),
      await admin.put(`${path}/${second.id}`, { external_id: id }),
    ])
      assertRefused(answer, 409, 'external_id_taken');
    assert.equal(
      (await admin.put(`${path}/${second.id}`, { external_id: id.toUpperCase() })).body.data.external_id,
      id.toUpperCase(),
    );
    assert.equal((await admin.put(`${path}/${first.id}`, { external_id: null })).status, 200);
    assert.equal((await admin.put(`${path}/${second.id}`, { external_id: id })).status, 200);
  });

  test(`${type}: of 20 records that get one at once, one has it`, async () => {
    const records = await Promise.all(Array.from({ length: 20 }, () => make({})));
    const external_id = newId();
    const answers = await Promise.all(
      records.map(({ body }) => admin.put(`${path}/${body.data.id}`, { external_id })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(19).fill(409)]);
  });

  test(`${type}: decisions, explanations and searches find it by the external id, after the others`, async () => {
    const role = await addRole(service, 'role.read');
    const id = newId();
    const made = await make({ external_id: id, role_ids: [role] });
    const reasonFor = async (text: string, permission = 'role.read') => {
      const { body } = await ask('evaluation', question(type, text, permission));
      const explained = await admin.post('/api/v1/access/explain', {
        subject: { type, id: text },
        permission,
      });
      assert.equal(explained.body.data.reason, body.context.reason);
      return body.context.reason;
    };
    assert.equal(await reasonFor(id), 'granted');
    assert.equal(await reasonFor(` ${id} `), 'granted');
    assert.equal(await reasonFor(id.toUpperCase()), 'unknown_subject');
    assert.equal(await reasonFor(id, 'role.delete'), 'not_granted');
    const actions = await ask('search/action', {
      subject: { type, id },
      resource: { type: 'role', id: 'any' },
    });
    assert.deepEqual(
      actions.body.results.map(({ name }: { name: string }) => name),
      ['read'],
    );
    const many = await ask('evaluations', {
      evaluations: [id, made.body.data.id, newId()].map((text) => question(type, text, 'role.read')),
    });
    assert.deepEqual(
      many.body.evaluations.map(({ decision }: { decision: boolean }) => decision),
      [true, true, false],
    );
    assert.equal((await admin.put(`${path}/${made.body.data.id}`, { external_id: null })).status, 200);
    assert.equal(await reasonFor(id), 'unknown_subject');
  });
}

test('no service account is named as the external id of another, in any case', async () => {
  const path = '/api/v1/service-accounts';
  const name = `Crm-${randomUUID()}`;
  const own = await admin.post(path, { name, external_id: name });
  assert.equal(own.status, 201, 'an account may have its own name as external id');
  const other = await admin.post(path, { name: `SA ${randomUUID()}` });
  const external = `ext-${randomUUID()}`;
  assert.equal((await admin.put(`${path}/${own.body.data.id}`, { external_id: external })).status, 200);
  for (const text of [external, external.toUpperCase()]) {
    assertRefused(await admin.post(path, { name: text }), 409, 'name_taken');
    assertRefused(await admin.put(`${path}/${other.body.data.id}`, { name: text }), 409, 'name_taken');
  }
  for (const text of [name, name.toLowerCase()]) {
    const fields = { name: `SA ${randomUUID()}`, external_id: text };
    assertRefused(await admin.post(path, fields), 409, 'external_id_taken');
    const changed = await admin.put(`${path}/${other.body.data.id}`, { external_id: text });
    assertRefused(changed, 409, 'external_id_taken');
  }
});

test('of one text as a name and as an external id at once, one service account gets it', async () => {
  const path = '/api/v1/service-accounts';
  const text = `race-${randomUUID()}`;
  const answers = await Promise.all(
    [{ name: text }, { name: `SA ${randomUUID()}`, external_id: text }].flatMap((body) => [
      admin.post(path, body),
      admin.post(path, { ...body, ...(body.external_id && { name: `SA ${randomUUID()}` }) }),
    ]),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409]);
});

test('users are listed by it, exactly', async () => {
  const id = newId();
  const { data } = (await admin.post('/api/v1/users', newcomer({ external_id: id }))).body;
  const found = async (text: string) => {
    const answer = await admin.get(`/api/v1/users/list?external_id=${encodeURIComponent(text)}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.data.items.map((user: { id: string }) => user.id);
  };
  assert.deepEqual(await found(id), [data.id]);
  assert.deepEqual(await found(` ${id} `), [data.id]);
  for (const text of [id.toUpperCase(), id.slice(1), '%', 'null']) assert.deepEqual(await found(text), []);
  assert.equal((await admin.get('/api/v1/users/list?external_id=')).status, 422);
});

const addRefund = async (): Promise<{ name: string }> => {
  const group = await admin.post('/api/v1/permission-groups', { name: `till${randomUUID().slice(0, 8)}` });
  return (await admin.post('/api/v1/permissions', { name: 'refund', group_id: group.body.data.id })).body
    .data;
};

test('who sets it must hold what the service account holds, because decisions follow it', async () => {
  const { client } = await signedInWith(service, 'service_account.update');
  const holder = await addServiceAccount(service, { permissions: [(await addRefund()).name] });
  const plain = await addServiceAccount(service, {});
  const path = '/api/v1/service-accounts';
  const external_id = newId();
  assert.equal((await client.put(`${path}/${plain.id}`, { external_id })).status, 200);
  assert.equal((await client.put(`${path}/${plain.id}`, { external_id: null })).status, 200);
  const refused = await client.put(`${path}/${holder.id}`, { external_id });
  assertRefused(refused, 403, 'privilege_escalation');
  assert.equal(refused.body.errors[0].field, 'external_id');
  const described = await client.put(`${path}/${holder.id}`, { description: 'Pays back', external_id: null });
  assert.equal(described.status, 200, described.text);
  assert.equal((await admin.put(`${path}/${holder.id}`, { external_id })).status, 200);
});

test('who sets it must hold what the user holds, because decisions follow it', async () => {
  const { client } = await signedInWith(service, 'users.update');
  const permission = await addRefund();
  const holder = await addPerson(service, { roles: [await addRole(service, permission.name)] });
  const plain = await addPerson(service);
  const refused = await client.put(`/api/v1/users/${holder.id}`, { external_id: newId() });
  assertRefused(refused, 403, 'privilege_escalation');
  assert.equal(refused.body.errors[0].field, 'external_id');
  assert.equal((await client.put(`/api/v1/users/${holder.id}`, { first_name: 'Grace' })).status, 200);
  assert.equal((await client.put(`/api/v1/users/${plain.id}`, { external_id: newId() })).status, 200);
  assertRefused(await admin.put('/api/v1/users/me', { external_id: newId() }), 400, 'field_not_allowed');
});

test('a change of many users names the one whose external id is taken', async () => {
  const [one, other] = [await addPerson(service), await addPerson(service)];
  const taken = newId();
  await admin.post('/api/v1/users', newcomer({ external_id: taken }));
  const refused = await admin.put('/api/v1/users/bulk-update', {
    users: [
      { id: one.id, external_id: newId() },
      { id: other.id, external_id: taken },
    ],
  });
  assertRefused(refused, 409, 'external_id_taken');
  assert.deepEqual(
    refused.body.errors.map(({ field }: { field: string }) => field),
    ['users.1.external_id'],
  );
  assert.equal((await admin.get(`/api/v1/users/${one.id}`)).body.data.external_id, null);
});

test('an import takes it, refuses one that somebody has, and an export has it', async () => {
  const { db, auditLog, settings } = service.service.deps;
  const [id, twice] = [newId(), newId()];
  const { data } = (await admin.post('/api/v1/users', newcomer({ external_id: newId() }))).body;
  const people = [
    { email: newEmail('row'), external_id: id },
    { email: newEmail('row'), external_id: data.external_id },
    { email: newEmail('row'), external_id: twice },
    { email: newEmail('row'), external_id: ` ${twice}` },
    { email: newEmail('row'), external_id: randomUUID() },
    { email: newEmail('row') },
  ];
  async function* rows() {
    for (const [index, value] of people.entries()) yield { row: index + 1, value };
  }
  for (const [dryRun, good] of [
    [true, 'would_create'],
    [false, 'created'],
  ] as const) {
    const outcomes: string[] = [];
    const options = { source: 'file', dryRun, privileged: false, withoutPasswords: false };
    await importUsers({ db, auditLog, settings }, rows(), options, async (verdicts) => {
      for (const one of verdicts)
        outcomes.push(one.verdict === 'refused' ? one.errors.map(({ code }) => code).join() : one.verdict);
    });
    assert.deepEqual(outcomes, [good, 'external_id_taken', good, 'external_id_taken', 'uuid_name', good]);
  }
  const listed = await admin.get(`/api/v1/users/list?external_id=${encodeURIComponent(id)}`);
  assert.equal(listed.body.data.items[0].email, people[0]?.email);
  const exported = new Map<unknown, unknown>();
  await exportRecords(service.service.deps, 'users', { withPasswordHashes: false }, async (text) => {
    for (const line of text.split('\n').filter((one) => one !== '')) {
      const record: Record<string, unknown> = JSON.parse(line);
      exported.set(record.email, record.external_id);
    }
  });
  assert.equal(exported.get(people[0]?.email), id);
  assert.equal(exported.get(people[5]?.email), null);
});

// Loading the subjects of decisions: by which references, from one snapshot, with how many statements.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { newEmail, startTestService } from '@castellan/testing/harness';
import { statementsOf } from '@castellan/testing/statements';
import { addPerson, addRole } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const { subjectSource } = service.service.deps;
const load = async (type: string, id: string) => (await subjectSource.load([{ type, id }])).subjects[0];
const detailsOf = async (type: string, id: string) => {
  const subject = await load(type, id);
  return subject && subjectSource.detailsOf(subject);
};

async function addAccount(name: string, state: { active?: boolean; roles?: string[] } = {}): Promise<string> {
  const id = randomUUID();
  await service.sql('insert into service_accounts (id, name, is_active) values ($1, $2, $3)', [
    id,
    name,
    state.active ?? true,
  ]);
  for (const role of state.roles ?? [])
    await service.sql('insert into service_account_roles (service_account_id, role_id) values ($1, $2)', [
      id,
      role,
    ]);
  return id;
}

test('a user is found by id and by email, in any case and with white space around', async () => {
  const role = await addRole(service, 'role.read');
  const person = await addPerson(service, { firstName: 'Grace', lastName: 'Hopper', roles: [role] });
  const expected = {
    type: 'user',
    id: person.id,
    is_active: true,
    is_superuser: false,
    role_ids: [role],
  };
  for (const id of [person.id, person.id.toUpperCase(), person.email, ` ${person.email.toUpperCase()} `])
    assert.deepEqual(await load('user', id), expected);
  assert.deepEqual(await detailsOf('user', person.id), { name: 'Grace Hopper', notices: [] });
});

test('a service account and a role are found by id and by name, ignoring case', async () => {
  const role = await addRole(service, 'role.read');
  const account = await addAccount('Billing Ärger', { roles: [role] });
  for (const id of [account, 'Billing Ärger', 'BILLING äRGER']) {
    const found = await load('service_account', id);
    assert.deepEqual([found?.id, found?.is_superuser, found?.role_ids], [account, false, [role]]);
    assert.deepEqual(await detailsOf('service_account', id), { name: 'Billing Ärger', notices: [] });
  }
  for (const id of [role, `role ${role}`]) {
    const found = await load('role', id);
    assert.deepEqual([found?.type, found?.id, found?.role_ids], ['role', role, [role]]);
    assert.equal(found?.is_active, true);
    assert.deepEqual(await detailsOf('role', id), { name: `Role ${role}`, notices: [] });
  }
});

test('unknown references, other types, and references of another type name nobody', async () => {
  const person = await addPerson(service);
  const account = await addAccount(`of ${person.email}`);
  const role = await addRole(service);
  const absent: [string, string][] = [
    ['user', randomUUID()],
    ['user', newEmail()],
    ['user', 'no email'],
    ['user', ''],
    ['service_account', ''],
    ['role', `Role ${randomUUID()}`],
    ['device', person.id],
    ['User', person.id],
    ['', person.id],
    ['user', account],
    ['user', role],
    ['service_account', person.id],
    ['service_account', person.email],
    ['role', person.id],
  ];
  for (const [type, id] of absent) assert.equal(await load(type, id), undefined, `${type} ${id}`);
});

test('what looks like a UUID is an id, even if an account has it as its name', async () => {
  const name = randomUUID();
  await addAccount(name);
  assert.equal(await load('service_account', name), undefined);
});

test('the state of a subject and its notices are told', async () => {
  const inactive = await addPerson(service, { active: false, verified: false, superuser: true });
  await service.sql(
    "insert into login_attempts (email, failures, locked_until) values ($1, 5, now() + interval '10 minutes')",
    [inactive.email],
  );
  const found = await load('user', inactive.id);
  assert.deepEqual([found?.is_active, found?.is_superuser], [false, true]);
  assert.deepEqual((await detailsOf('user', inactive.id))?.notices, ['locked', 'unverified']);
  await service.sql("update login_attempts set locked_until = now() - interval '1 second' where email = $1", [
    inactive.email,
  ]);
  assert.deepEqual((await detailsOf('user', inactive.id))?.notices, ['unverified']);
  const account = await addAccount('asleep', { active: false });
  assert.equal((await load('service_account', account))?.is_active, false);
});

test('a thousand subjects, and fifteen lists in one tick, need one statement each and keep their order', async () => {
  const people = await Promise.all(Array.from({ length: 15 }, () => addPerson(service)));
  const references = Array.from({ length: 1_000 }, (_, index) => {
    const person = people[index % people.length] as (typeof people)[number];
    return { type: 'user', id: index % 3 === 0 ? randomUUID() : person.id };
  });
  await subjectSource.load(references);
  let long: readonly ({ id: string } | undefined)[] = [];
  const ofLong = await statementsOf(async () => {
    long = (await subjectSource.load(references)).subjects;
  });
  assert.equal(ofLong.length, 1);
  for (const [index, { id }] of references.entries())
    assert.equal(long[index]?.id, index % 3 === 0 ? undefined : id);

  let lists: { subjects: readonly ({ id: string } | undefined)[] }[] = [];
  const ofShort = await statementsOf(async () => {
    lists = await Promise.all(
      people.map((person, index) =>
        subjectSource.load([
          ...Array.from({ length: index % 4 }, () => ({ type: 'role', id: 'nobody' })),
          { type: 'user', id: person.id },
        ]),
      ),
    );
  });
  assert.equal(ofShort.length, 1);
  for (const [index, person] of people.entries()) {
    assert.equal(lists[index]?.subjects.length, (index % 4) + 1);
    assert.equal(lists[index]?.subjects.at(-1)?.id, person.id);
  }
});

test('the graph belongs to the snapshot: it has a role that was added just before', async () => {
  for (let round = 0; round < 8; round += 1) {
    const role = await addRole(service, 'role.read');
    const { subjects, graph } = await subjectSource.load([{ type: 'role', id: role }]);
    assert.deepEqual(graph.roles.get(subjects[0]?.id ?? '')?.permissions, ['role.read']);
  }
});

// After every random change, all answers about access agree with an oracle and with each other, at two instances.
import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { addServiceAccount, type TestServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole, type Person } from '@castellan/testing/users/people';
import {
  decide,
  differenceOf,
  type Facts,
  heldByRoles,
  mayDo,
  type OracleSubject,
  readFacts,
} from './oracle.ts';

const STEPS = 24;
const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const twin = await service.another();
const admin = await signIn(service, ADMIN);
const instances = [admin, admin.at(twin.url)] as const;

const GROUP = `orders-${randomUUID().slice(0, 8)}`;
const actions = ['read', 'write', 'send', 'delete'];
const group = await admin.post('/api/v1/permission-groups', { name: GROUP });
for (const name of actions) await admin.post('/api/v1/permissions', { name, group_id: group.body.data.id });
const names = actions.map((action) => `${GROUP}.${action}`);
const [permissionRows] = [
  await service.sql<{ id: string; name: string }>('select id, name from permissions where name like $1', [
    `${GROUP}.%`,
  ]),
];
const permissionIds = permissionRows.map(({ id }) => id);
const roles = await Promise.all(['', '', '', ''].map(() => addRole(service)));
const people: Person[] = [];
for (let index = 0; index < 4; index += 1) people.push(await addPerson(service));
const boss = await addPerson(service, { superuser: true });
const accounts: TestServiceAccount[] = [];
for (let index = 0; index < 2; index += 1) accounts.push(await addServiceAccount(service));

const pick = <T>(list: readonly T[]): T => list[randomInt(list.length)] as T;
const some = <T>(list: readonly T[]): T[] => list.filter(() => randomInt(2) === 1);

type Change = { name: string; method: string; path: string; json?: unknown };
/** Returns a random change of what somebody may do. Some are refused, and some change nothing. */
function randomChange(): Change {
  const role = pick(roles);
  const person = pick(people).id;
  const account = pick(accounts).id;
  const changes: Change[] = [
    {
      name: 'replace permissions',
      method: 'PUT',
      path: `/roles/${role}`,
      json: { permission_ids: some(permissionIds) },
    },
    {
      name: 'take permissions away',
      method: 'DELETE',
      path: `/roles/${role}/permissions`,
      json: { permission_ids: [pick(permissionIds)] },
    },
    {
      name: 'replace roles',
      method: 'POST',
      path: `/users/${person}/roles`,
      json: { role_ids: some(roles) },
    },
    { name: 'activate', method: 'PUT', path: `/users/${person}`, json: { is_active: randomInt(3) > 0 } },
    { name: 'promote', method: 'PUT', path: `/users/${person}`, json: { is_superuser: randomInt(3) === 0 } },
    {
      name: 'change an account',
      method: 'PUT',
      path: `/service-accounts/${account}`,
      json: { role_ids: some(roles), is_active: randomInt(4) > 0 },
    },
    {
      name: 'change many',
      method: 'POST',
      path: '/access/changes',
      json: {
        changes: [
          {
            role_id: role,
            add_permission_ids: [permissionIds[0]],
            remove_permission_ids: [permissionIds[1]],
          },
          { user_id: person, add_role_ids: [role] },
          { service_account_id: account, remove_role_ids: [role] },
        ],
      },
    },
  ];
  return pick(changes);
}

const send = (client: TestClient, { method, path, json }: Change, query = ''): Promise<Answer> =>
  client.request(method, `/api/v1${path}${query}`, { json });

const ask = (client: TestClient, path: string, json: unknown): Promise<Answer> =>
  client.post(`/api/v1/access/${path}`, json);

const entityOf = ({ type, id }: Pick<OracleSubject, 'type' | 'id'>) => ({ type, id });

async function assertDecisions(client: TestClient, facts: Facts): Promise<void> {
  const questions = [...facts.subjects, undefined].flatMap((subject) =>
    [...names, `${GROUP}.unknown`].map((permission) => ({ subject, permission })),
  );
  const evaluations = questions.map(({ subject, permission }) => ({
    subject: subject ? entityOf(subject) : { type: 'user', id: randomUUID() },
    action: { name: permission.slice(GROUP.length + 1) },
    resource: { type: GROUP, id: '1' },
  }));
  const batch = await ask(client, 'v1/evaluations', { evaluations });
  assert.equal(batch.status, 200, batch.text);
  for (const [index, { subject, permission }] of questions.entries()) {
    const { decision, context } = batch.body.evaluations[index];
    const expected = decide(facts, subject, permission);
    assert.deepEqual({ decision, reason: context.reason }, expected, JSON.stringify(evaluations[index]));
  }
  const index = randomInt(questions.length);
  const single = await ask(client, 'v1/evaluation', evaluations[index]);
  assert.deepEqual(single.body, batch.body.evaluations[index]);
  const { subject, permission } = pick(questions.filter((one) => one.subject));
  if (!subject) return;
  const { body } = await ask(client, 'explain', { subject: entityOf(subject), permission });
  const expected = decide(facts, subject, permission);
  assert.deepEqual({ decision: body.data.decision, reason: body.data.reason }, expected);
  assert.deepEqual(
    body.data.sources.map((source: { role: { id: string } }) => source.role.id).sort(),
    subject.roles
      .filter((role) => facts.granted.get(role)?.has(facts.permissions.get(permission) ?? ''))
      .sort(),
  );
}

async function assertSearches(client: TestClient, facts: Facts): Promise<void> {
  const permission = pick(names);
  const resource = { type: GROUP, id: '1' };
  for (const type of ['user', 'service_account', 'role'] as const) {
    const answer = await ask(client, 'v1/search/subject', {
      subject: { type },
      action: { name: permission.slice(GROUP.length + 1) },
      resource,
    });
    const expected = facts.subjects.filter(
      (subject) => subject.type === type && decide(facts, subject, permission).decision,
    );
    assert.deepEqual(
      answer.body.results.map(({ id }: { id: string }) => id).sort(),
      expected.map(({ id }) => id).sort(),
    );
  }
  const subject = pick(facts.subjects);
  const found = await ask(client, 'v1/search/action', { subject: entityOf(subject), resource });
  const expected = mayDo(facts, subject).filter((name) => name.startsWith(`${GROUP}.`));
  assert.deepEqual(
    found.body.results.map(({ name }: { name: string }) => `${GROUP}.${name}`).sort(),
    expected,
  );
}

async function assertLists(client: TestClient, facts: Facts): Promise<void> {
  const subject = pick(facts.subjects.filter(({ type }) => type !== 'role'));
  const path = subject.type === 'user' ? 'users' : 'service-accounts';
  const { body } = await client.get(`/api/v1/${path}/${subject.id}/effective-permissions`);
  const held = subject.isSuperuser ? [...facts.permissions.keys()].sort() : heldByRoles(facts, subject);
  assert.deepEqual(
    body.data.permissions.map(({ name }: { name: string }) => name),
    held,
  );
  assert.equal(body.data.blocked, subject.isActive ? null : 'inactive');
  const permission = pick(names);
  const holders = await client.get(
    `/api/v1/permissions/${facts.permissions.get(permission)}/holders?include=superusers&size=100`,
  );
  const expected = facts.subjects.filter(
    (one) => one.type !== 'role' && (one.isSuperuser || heldByRoles(facts, one).includes(permission)),
  );
  assert.deepEqual(
    holders.body.data.map(({ id }: { id: string }) => id).sort(),
    expected.map(({ id }) => id).sort(),
  );
  assert.equal(holders.body.total, expected.length);
}

async function assertIntrospection(client: TestClient, facts: Facts): Promise<void> {
  const account = pick(accounts);
  const answer = await fetch(`${client.url}/api/v1/oauth/introspect`, {
    method: 'POST',
    headers: { authorization: `Bearer ${admin.accessToken}` },
    body: new URLSearchParams({ token: account.key, include: 'permissions' }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: the assertions below check the shape
  const body: any = await answer.json();
  const subject = facts.subjects.find(({ id }) => id === account.id);
  assert.ok(subject);
  assert.equal(body.active, subject.isActive);
  if (subject.isActive) assert.deepEqual(body.permissions, mayDo(facts, subject));
  else assert.deepEqual(body, { active: false });
}

test(`after each of ${STEPS} random changes every answer agrees with the oracle; each preview foretold its change`, async () => {
  assert.ok(boss.id);
  for (let step = 0; step < STEPS; step += 1) {
    const change = randomChange();
    const before = await readFacts(service);
    const foretold = await send(pick(instances), change, '?dry_run=true');
    assert.equal(foretold.status, 200, `${change.name}: ${foretold.text}`);
    assert.deepEqual(await readFacts(service), before, `the preview of "${change.name}" changed something`);
    const done = await send(pick(instances), change);
    const facts = await readFacts(service);
    const { would_be_refused, impact } = foretold.body.data;
    if (would_be_refused)
      assert.deepEqual([done.status, done.body.code], [would_be_refused.status, would_be_refused.code]);
    else {
      assert.ok(done.status < 300, `${change.name}: ${done.text}`);
      const { gaining, losing, inactive, gained, lost } = impact;
      const sorted = (list: { permission: string }[]) =>
        list.toSorted((a, b) => (a.permission < b.permission ? -1 : 1));
      assert.deepEqual(
        { gaining, losing, inactive, gained: sorted(gained), lost: sorted(lost) },
        differenceOf(before, facts),
        `${change.name} ${JSON.stringify(change.json)}`,
      );
    }
    for (const client of instances) {
      await assertDecisions(client, facts);
      await assertSearches(client, facts);
      await assertLists(client, facts);
      await assertIntrospection(client, facts);
    }
  }
});

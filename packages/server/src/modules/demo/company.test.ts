// The made-up company refers only to what it has, and its people to nothing real.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allPermissions } from '@castellan/contract/permissions';
import { canonicalEmail } from '../../platform/security/email.ts';
import { cleanText } from '../../platform/security/text.ts';
import { seededNames } from '../seed/service.ts';
import { valueFromText } from '../user-attributes/service.ts';
import { attributes } from './attributes.ts';
import { departments, permissionGroups, permissions, roleGroups, roles, serviceAccounts } from './company.ts';
import { makeAttack, makePeople, type Plan } from './people.ts';
import { createRandom } from './random.ts';

const plan: Plan = {
  people: 2_000,
  seed: 'test',
  now: new Date('2026-11-23T10:00:00Z'),
  creatorId: null,
  reservedEmails: new Set(),
  limits: { sessions: 3, refreshTokenDays: 7, lockoutAttempts: 5, lockoutMinutes: 15, unverifiedHours: 72 },
};
const made = [...makePeople(plan)];
const newAttribute = {
  id: '',
  name: '',
  max_length: 12,
  unique: false,
  searchable: false,
  self: 'none',
  required: false,
  sensitive: false,
} as const;

test('roles, permissions, groups and departments refer to what exists', () => {
  const known = new Set<string>([...allPermissions, ...permissions.map(({ name }) => name)]);
  assert.equal(known.size, allPermissions.length + permissions.length, 'a name is used twice');
  const roleNames = new Set([...seededNames.roles, ...roles.map(({ name }) => name)]);
  assert.equal(roleNames.size, seededNames.roles.length + roles.length, 'a role is named twice');
  for (const role of roles) {
    assert.ok(
      roleGroups.some(({ name }) => name === role.group),
      role.group,
    );
    for (const permission of role.permissions) assert.ok(known.has(permission), permission);
    assert.equal(new Set(role.permissions).size, role.permissions.length, role.name);
  }
  for (const groups of [permissionGroups, roleGroups])
    for (const [at, { parent }] of groups.entries())
      assert.ok(parent === null || groups.slice(0, at).some(({ name }) => name === parent), `${parent}`);
  for (const used of [...serviceAccounts, ...departments].flatMap((one) => one.roles))
    assert.ok(roleNames.has(used), used);
  for (const { lead } of departments) assert.ok(roleNames.has(lead), lead);
});

test('names and addresses are such as the service accepts, and no address or id occurs twice', () => {
  for (const { person } of made) {
    assert.equal(canonicalEmail(person.email), person.email);
    for (const [text, min] of [
      [person.first_name, 1],
      [person.last_name, 0],
    ] as const)
      assert.deepEqual(cleanText(text, { min, max: 100 }), { ok: true, value: text });
  }
  assert.equal(new Set(made.map(({ person }) => person.email)).size, made.length);
  const events = [...made.flatMap((one) => one.events), ...makeAttack(plan)];
  const ids = [...made.map(({ person }) => person.id), ...events.map(({ id }) => id)];
  assert.equal(new Set(ids).size, ids.length);
  assert.match(
    made[0]?.person.id ?? '',
    /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
});

test('people have values of the attributes that the company declares, and no employee number twice', () => {
  const declared = new Map(attributes.map((one) => [one.name, one]));
  for (const { person, attributes: values } of made) {
    assert.equal('employee_number' in values, !person.pending_registration, person.email);
    for (const [name, value] of Object.entries(values)) {
      const { type, values: choices } = declared.get(name) ?? assert.fail(name);
      assert.equal(valueFromText({ ...newAttribute, type, values: choices }, String(value)), value, name);
    }
  }
  const numbers = made.flatMap(({ attributes: { employee_number: number } }) => number ?? []);
  assert.equal(new Set(numbers).size, numbers.length);
});

test('nothing happens before an account exists, in the future, or to somebody who cannot sign in', () => {
  for (const { person, sessions, lastLogin, lock, events } of made) {
    for (const { age_s } of [...sessions, ...events.filter(({ action }) => action === 'login_succeeded')])
      assert.ok(age_s > 0 && age_s < person.age_s, person.email);
    for (const session of sessions) {
      assert.ok(session.last_used_age_s >= 0 && session.last_used_age_s <= session.age_s);
      assert.ok(session.last_used_age_s < session.lifetime_s);
    }
    assert.ok(sessions.length <= plan.limits.sessions);
    if (!person.is_active || !person.verified)
      assert.deepEqual([sessions.length, lastLogin, lock], [0, null, null]);
  }
});

test('the same seed and time make the same people; another seed makes others', () => {
  assert.deepEqual([...makePeople(plan)], made);
  assert.notDeepEqual([...makePeople({ ...plan, seed: 'other' })][0]?.person, made[0]?.person);
});

test('the numbers are spread evenly, and as the weights say', () => {
  const random = createRandom('spread');
  const counts = Array.from({ length: 10 }, () => 0);
  for (let at = 0; at < 10_000; at += 1) counts[random.between(0, 9)]! += 1;
  for (const count of counts) assert.ok(count > 850 && count < 1_150, `${counts}`);
  const items = [{ weight: 1 }, { weight: 3 }, { weight: 0 }];
  const picked = Array.from({ length: 4_000 }, () => items.indexOf(random.pickWeighted(items)));
  assert.ok(!picked.includes(2));
  const heavy = picked.filter((one) => one === 1).length;
  assert.ok(heavy > 2_850 && heavy < 3_150, `${heavy}`);
});

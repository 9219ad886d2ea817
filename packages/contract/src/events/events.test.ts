// The catalogue of events: its patterns, what is personal in it, and what becomes of an entry.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Compile } from 'typebox/compile';
import { type Members, PERSONAL } from '../audit/members.ts';
import { auditActions, failureActions } from '../audit.ts';
import {
  eventEntry,
  eventSchema,
  eventTypes,
  eventTypesOf,
  fitsAnyEvent,
  isEventType,
  versionOf,
} from './catalogue.ts';
import { type EventSource, renderEvent } from './messages.ts';
import { ERASED, marksIn, splitDetails, whoseMember } from './personal.ts';

const ID = '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be210';
const entry: EventSource = {
  id: ID,
  actor_id: '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be211',
  actor_type: 'user',
  actor_name: null,
  actor_email: 'grace@example.com',
  action: 'user_updated',
  resource_type: 'user',
  resource_id: '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be212',
  resource_name: 'ada@example.com',
  details: {
    address: '203.0.113.7',
    request_id: 'r-1',
    before: { email: 'ada@example.com', is_active: true },
    after: { email: 'lovelace@example.com', is_active: false },
    sessions_ended: 2,
  },
  timestamp: '2026-03-14T09:26:53.589Z',
};
const options = { sequence: 7, replay: false, personal: false };

test('every audit action is an event, of a version', () => {
  for (const action of auditActions) assert.ok(isEventType(action) && versionOf(action) >= 1);
  assert.ok(!isEventType('toString') && !isEventType('user_sneezed'));
});

test('patterns name all types, one, or those with a beginning', () => {
  assert.deepEqual(eventTypesOf(['*']), eventTypes);
  assert.deepEqual(eventTypesOf(['role_created', 'role_created']), ['role_created']);
  const ofKeys = eventTypesOf(['api_key_*', 'signing_key_revoked']);
  assert.deepEqual(
    [...ofKeys].sort(),
    [
      'api_key_created',
      'api_key_refused',
      'api_key_revoked',
      'api_key_rotated',
      'signing_key_revoked',
    ].sort(),
  );
  assert.ok(fitsAnyEvent('user_*') && !fitsAnyEvent('user') && !fitsAnyEvent('users_sneezed_*'));
  assert.ok(failureActions.every((action) => fitsAnyEvent(action)));
});

test('what is named like personal data is declared as such, and no name has two meanings in a type', () => {
  const isPersonal =
    /^(email|new_email|first_name|last_name|user_agent|network|subject|external_id|attributes|.*_user_agent|.*_network|address|.+_address)$/;
  // Of a service account, it names no person.
  const exempt = /^service_account_/;
  const wrong = eventTypes.flatMap((type) => {
    const marks = marksIn(eventEntry(type).details);
    return marks
      .filter(
        ([name, mark]) =>
          (mark === null && isPersonal.test(name) && !exempt.test(type)) ||
          marks.some(([other, otherMark]) => other === name && otherMark !== mark),
      )
      .map(([name]) => `${type}: ${name}`);
  });
  assert.deepEqual(wrong, []);
});

test('only members of details, before and after are marked, because only these are looked at', () => {
  const deeper = (schema: unknown, depth: number): boolean =>
    typeof schema === 'object' &&
    schema !== null &&
    ((depth > 0 && PERSONAL in schema) || Object.values(schema).some((inner) => deeper(inner, depth + 1)));
  const unread = ([name, schema]: [string, unknown]): boolean => {
    if (name !== 'before' && name !== 'after') return deeper(schema, 0);
    const fields: unknown = Reflect.get(Object(schema), 'properties') ?? {};
    return Object.values(Object(fields)).some((field) => deeper(field, 0));
  };
  const of = (members: Members) => Object.entries(members).filter(unread);
  assert.deepEqual(
    eventTypes.flatMap((type) => of(eventEntry(type).details).map(([name]) => `${type}: ${name}`)),
    [],
  );
});

test('a personal member can be erased', () => {
  for (const type of eventTypes) {
    const { details } = eventEntry(type);
    for (const [name, schema] of Object.entries(details))
      if (PERSONAL in schema) assert.ok(Compile(schema).Check(ERASED), `${type}: ${name}`);
  }
});

test('details are taken apart on every level, and what is not declared counts as personal', () => {
  assert.deepEqual(splitDetails('user_updated', entry.details), {
    open: { request_id: 'r-1', before: { is_active: true }, after: { is_active: false }, sessions_ended: 2 },
    personal: {
      address: '203.0.113.7',
      before: { email: 'ada@example.com' },
      after: { email: 'lovelace@example.com' },
    },
  });
  assert.deepEqual(splitDetails('role_created', { before: null, after: { name: 'Editor', pet: 'Rex' } }), {
    open: { before: null, after: { name: 'Editor' } },
    personal: { after: { pet: 'Rex' } },
  });
  assert.deepEqual(splitDetails('passkey_renamed', { before: 'Old', after: 'New', passkey_id: ID }), {
    open: { passkey_id: ID },
    personal: { before: 'Old', after: 'New' },
  });
  assert.deepEqual(splitDetails('of_a_later_release', { count: 1 }), { open: {}, personal: { count: 1 } });
});

test('members say whose data they are, also those of other releases', () => {
  assert.equal(whoseMember('login_failed', 'user_agent'), 'sender');
  assert.equal(whoseMember('login_failed', 'email'), 'subject');
  assert.equal(whoseMember('passkey_added', 'name'), 'subject');
  assert.equal(whoseMember('role_created', 'name'), null);
  assert.equal(whoseMember('role_created', 'email'), 'subject');
  assert.equal(whoseMember('of_a_later_release', 'address'), 'sender');
  assert.equal(whoseMember('of_a_later_release', 'count'), null);
});

test('an event has no name, email or address unless the endpoint asks for them', () => {
  const { data, ...outside } = renderEvent(entry, options);
  assert.deepEqual(outside, { type: 'user_updated', timestamp: entry.timestamp });
  assert.deepEqual(data, {
    id: ID,
    version: 1,
    sequence: 7,
    replay: false,
    actor: { type: 'user', id: entry.actor_id },
    resource: { type: 'user', id: entry.resource_id },
    details: {
      request_id: 'r-1',
      before: { is_active: true },
      after: { is_active: false },
      sessions_ended: 2,
    },
  });
  const personal = renderEvent({ ...entry, acted_by_id: ID }, { ...options, personal: true, test: true });
  assert.deepEqual(personal.data, {
    ...data,
    test: true,
    actor: { ...data.actor, name: null, email: 'grace@example.com' },
    acted_by_id: ID,
    resource: { ...data.resource, name: 'ada@example.com' },
    details: entry.details,
  });
  const validator = Compile(eventSchema('user_updated'));
  for (const message of [renderEvent(entry, options), personal])
    assert.deepEqual(validator.Errors(message), []);
});

test('an event of nobody has no actor, and an actor without a type is a user', () => {
  assert.equal(renderEvent({ ...entry, actor_id: null, actor_type: null }, options).data.actor, null);
  const { actor } = renderEvent({ ...entry, actor_type: null }, options).data;
  assert.deepEqual(actor, { type: 'user', id: entry.actor_id });
});

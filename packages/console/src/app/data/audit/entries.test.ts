// What an audit entry says: changes per field, secrets masked, days, and a sentence for each action.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditActions, failureActions as failuresOfService } from '@castellan/contract/audit';
import type { AuditLogEntry } from '@castellan/sdk';
import { auditSentences as de } from '../../messages/de/audit/audit-sentences.ts';
import { auditSentences as en } from '../../messages/en/audit/audit-sentences.ts';
import { byDay, changesOf, failureActions, partsOf, rawOf, targetNameOf, toneOf } from './entries.ts';

const entryWith = (details: Record<string, unknown>, more: Partial<AuditLogEntry> = {}): AuditLogEntry => ({
  id: '1',
  actor_id: null,
  actor_type: null,
  actor_name: null,
  actor_email: null,
  action: 'user_updated',
  resource_type: 'user',
  resource_id: '',
  resource_name: null,
  details,
  timestamp: '2026-11-03T10:00:00.000Z',
  ...more,
});

test('every action has a sentence in both languages, and refusals are those of the service', () => {
  assert.deepEqual(Object.keys(en).sort(), [...auditActions].sort());
  assert.deepEqual(Object.keys(de).sort(), [...auditActions].sort());
  assert.deepEqual([...failureActions].sort(), [...failuresOfService].sort());
  for (const action of failureActions) assert.equal(toneOf(action), 'bad', action);
});

test('both languages name the same parts of a sentence', () => {
  const partsIn = (sentence: string) =>
    partsOf(sentence)
      .filter(({ type }) => type !== 'text')
      .map(({ type }) => type)
      .sort();
  const german = new Map(Object.entries(de));
  for (const [action, sentence] of Object.entries(en))
    assert.deepEqual(partsIn(german.get(action) ?? ''), partsIn(sentence), action);
});

test('a change lists each field once, and lists by what was added and removed', () => {
  const changes = changesOf(
    entryWith({
      before: { is_active: true, roles: ['Editor', 'User'] },
      after: { is_active: false, roles: ['User', 'Finance'] },
    }),
  );
  assert.deepEqual(changes, [
    { field: 'is_active', before: 'true', after: 'false' },
    {
      field: 'roles',
      before: '["Editor","User"]',
      after: '["User","Finance"]',
      added: ['Finance'],
      removed: ['Editor'],
    },
  ]);
});

test('a record that is created has no values before', () => {
  assert.deepEqual(changesOf(entryWith({ before: null, after: { name: 'Editor' } })), [
    { field: 'name', before: null, after: 'Editor' },
  ]);
});

test('what is or looks like a secret is masked, and a switch is not', () => {
  const raw = rawOf(
    entryWith({
      password: 'Vexing',
      nested: [{ refresh_token: 'abc' }],
      must_change_password: true,
      note: 'used castellan_abcdefghijkl_AAAABBBB_CCC today',
      key_id: '42',
    }),
  );
  for (const secret of ['Vexing', 'abc"', 'AAAABBBB', 'CCC']) assert.ok(!raw.includes(secret), secret);
  for (const shown of ['"must_change_password": true', 'castellan_abcdefghijkl', '"key_id": "42"'])
    assert.ok(raw.includes(shown), shown);
});

test('an entry without a record is named by the email in its details', () => {
  assert.equal(targetNameOf(entryWith({ email: 'ada@example.com' })), 'ada@example.com');
  assert.equal(targetNameOf(entryWith({})), null);
});

test('entries are grouped by day in their order', () => {
  const at = (timestamp: string) => entryWith({}, { id: timestamp, timestamp });
  const days = byDay(
    [at('2026-11-03T10:00:00Z'), at('2026-11-03T09:00:00Z'), at('2026-11-02T23:00:00Z')],
    (iso) => iso.slice(0, 10),
  );
  assert.deepEqual(
    days.map(({ key, entries }) => [key, entries.length]),
    [
      ['2026-11-03', 2],
      ['2026-11-02', 1],
    ],
  );
});

// Who a bulk act leaves out, and what its requests report.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListedUser } from '@castellan/sdk';
import { type BulkAct, chunksOf, divide, joinPreviews, namedIn, runInChunks, skipReason } from './bulk.ts';

const role = { id: 'r1', name: 'Editor', description: '' };

const idOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

const userOf = (number: number, change: Partial<ListedUser> = {}): ListedUser => ({
  id: idOf(number),
  email: `${number}@example.com`,
  first_name: 'Ada',
  last_name: '',
  is_active: true,
  is_superuser: false,
  verified: true,
  must_change_password: false,
  external_id: null,
  invited_at: null,
  deletion_due_at: null,
  roles: [],
  permissions: [],
  created_at: '',
  updated_at: '',
  activity: { status: 'active', live_sessions: 1, last_active_at: null },
  ...change,
});

const self = { id: idOf(1), is_superuser: false };
const reason = (act: BulkAct, change: Partial<ListedUser>, number = 2) =>
  skipReason(userOf(number, change), { act, self, roleIds: ['r1'] });

test('nobody locks themselves out', () => {
  for (const act of ['deactivate', 'endSessions', 'removeRoles'] as const)
    assert.equal(reason(act, { roles: [role] }, 1), 'self', act);
  assert.equal(reason('addRoles', {}, 1), null);
});

test('superusers are left to superusers', () => {
  assert.equal(reason('deactivate', { is_superuser: true }), 'superuser');
  const boss = { act: 'deactivate', self: { ...self, is_superuser: true }, roleIds: [] } as const;
  assert.equal(skipReason(userOf(2, { is_superuser: true }), boss), null);
});

test('users who are already so are left out', () => {
  assert.equal(reason('activate', {}), 'already');
  assert.equal(reason('deactivate', { is_active: false }), 'already');
  assert.equal(reason('addRoles', { roles: [role] }), 'already');
  assert.equal(reason('removeRoles', {}), 'already');
  assert.equal(
    reason('endSessions', { activity: { status: 'active', live_sessions: 0, last_active_at: null } }),
    'already',
  );
  assert.equal(reason('removeRoles', { roles: [role] }), null);
});

test('the others change', () => {
  const { changing, skipped } = divide([userOf(1), userOf(2), userOf(3, { is_active: false })], {
    act: 'deactivate',
    self,
    roleIds: [],
  });
  assert.deepEqual(
    changing.map(({ id }) => id),
    [idOf(2)],
  );
  assert.deepEqual([...skipped.keys()], ['self', 'already']);
});

test('a refusal names its users by id or by position', () => {
  const ids = [idOf(1), idOf(2), idOf(3)];
  const fields = [
    { field: 'user_ids.0', code: 'x', message: `holds more (user ${idOf(3)})` },
    { field: 'changes.1.add_role_ids', code: 'x', message: 'not allowed' },
  ];
  assert.deepEqual(
    [...namedIn(fields, ids)],
    [
      [idOf(3), 'holds more'],
      [idOf(2), 'not allowed'],
    ],
  );
});

test('a refused request changes nobody of it, and later ones are not sent', async () => {
  const chunks = chunksOf([userOf(1), userOf(2), userOf(3), userOf(4)], 1);
  const sent: string[] = [];
  const progress: number[] = [];
  const result = await runInChunks(
    chunks,
    async ([user]) => {
      sent.push(user?.id ?? '');
      if (user?.id === idOf(3)) throw new Error('No.');
    },
    { onProgress: (done) => progress.push(done) },
  );
  assert.deepEqual(sent, [idOf(1), idOf(2), idOf(3)]);
  assert.deepEqual(progress, [1, 2]);
  assert.deepEqual([result.done.length, result.undone.length, result.unknown.length], [2, 2, 0]);
  assert.deepEqual(result.refused, [idOf(3)]);
});

test('of a request without an answer, nobody says that it was not carried out', async () => {
  const lost = Object.assign(new Error('lost'), { code: 'network_error', status: 0 });
  const result = await runInChunks(chunksOf([userOf(1), userOf(2), userOf(3)], 1), async ([user]) => {
    if (user?.id === idOf(2)) throw lost;
  });
  const ids = (users: readonly ListedUser[]) => users.map(({ id }) => id);
  assert.deepEqual(
    [ids(result.done), ids(result.unknown), ids(result.undone)],
    [[idOf(1)], [idOf(2)], [idOf(3)]],
  );
  assert.equal(result.error, lost);
});

test('a run that is stopped ends after the request under way', async () => {
  const stop = new AbortController();
  const result = await runInChunks(chunksOf([userOf(1), userOf(2), userOf(3)], 1), async () => stop.abort(), {
    signal: stop.signal,
  });
  assert.deepEqual([result.done.length, result.undone.length, result.error], [1, 2, null]);
});

test('previews of different users add up, and a refusal stands for all', () => {
  const one = {
    dry_run: true,
    would_be_refused: null,
    impact: {
      gaining: 0,
      losing: 2,
      gained: [],
      lost: [{ permission: 'a.read', subjects: 2 }],
      subjects: [],
      more: 2,
      inactive: 1,
    },
  } as const;
  const joined = joinPreviews([
    { ...one, impact: { ...one.impact, gained: [], lost: [...one.impact.lost], subjects: [] } },
    { ...one, impact: { ...one.impact, gained: [], lost: [...one.impact.lost], subjects: [] } },
  ]);
  assert.deepEqual(joined.impact?.lost, [{ permission: 'a.read', subjects: 4 }]);
  assert.deepEqual([joined.impact?.losing, joined.impact?.more, joined.impact?.inactive], [4, 4, 2]);
  const refused = {
    dry_run: true,
    would_be_refused: { status: 403, code: 'x', detail: 'No.' },
    impact: null,
  } as const;
  assert.equal(joinPreviews([joined, refused]), refused);
});

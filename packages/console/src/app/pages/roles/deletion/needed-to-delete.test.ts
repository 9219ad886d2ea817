import assert from 'node:assert/strict';
import { test } from 'node:test';
import { neededToDelete } from './needed-to-delete.ts';

test('deleting a role takes the permissions to change everyone who has it', () => {
  const role = { permission_ids: [] };
  const [user, account] = [{ type: 'user' as const }, { type: 'service_account' as const }];
  assert.deepEqual(neededToDelete(role, []), ['access.change', 'role.delete']);
  assert.deepEqual(neededToDelete({ permission_ids: ['p'] }, [user]), [
    'access.change',
    'role.delete',
    'role.update',
    'user.update',
  ]);
  assert.deepEqual(neededToDelete(role, [account]), [
    'access.change',
    'role.delete',
    'service_account.update',
  ]);
  assert.deepEqual(neededToDelete(role, [user, account, user]).slice(2), [
    'user.update',
    'service_account.update',
  ]);
});

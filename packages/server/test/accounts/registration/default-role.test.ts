// DEFAULT_ROLE: the role of users who register themselves. It must never prevent a registration.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paths, registration } from '@castellan/testing/accounts/self-service';
import { createVerifiedUser, signIn, startTestService } from '@castellan/testing/harness';
import { assertAnswered, assertRefused } from '../answers.ts';

for (const [what, value, roles, warns] of [
  ['unset', undefined, ['User'], false],
  ['another role', 'Manager', ['Manager'], false],
  ['a role in another case', 'mANAGER', ['Manager'], false],
  ['empty', '', [], false],
  ['unknown', 'Nobody has this', [], true],
] as const)
  test(`with DEFAULT_ROLE ${what} a new user has the roles ${JSON.stringify(roles)}`, async (t) => {
    const service = await startTestService(t, value === undefined ? {} : { DEFAULT_ROLE: value });
    assert.equal(
      service.logLines.some((line) => line.includes('DEFAULT_ROLE names a missing role')),
      warns,
      'the start logs a warning',
    );
    const user = assertAnswered(await service.client().post(paths.register, registration()), 201);
    assert.deepEqual(
      user.roles.map((role: { name: string }) => role.name),
      roles,
    );
    assert.equal(
      service.logLines.some((line) => line.includes('DEFAULT_ROLE')),
      warns,
    );
    if (roles.length > 0) return;
    assert.deepEqual(user.permissions, []);
    const client = await signIn(service, await createVerifiedUser(service));
    assertAnswered(await client.get(paths.me));
    assertRefused(await client.put(paths.me, { first_name: 'Eve' }), 403, 'permission_denied');
  });

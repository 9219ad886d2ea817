import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertLinear } from '@castellan/testing/linear-time';
import { createMethodTable } from './method-table.ts';

describe('the method table', () => {
  const table = createMethodTable();
  table.add('/users', ['GET', 'HEAD']);
  table.add('/users', ['POST']);
  table.add('/users/me', ['GET']);
  table.add('/users/:user_id', ['PUT', 'DELETE']);
  table.add('/users/:user_id/roles/:role_id', ['DELETE']);
  table.add('/files/v1.2/*', ['GET']);

  const cases: [path: string, allow: string | undefined][] = [
    ['/users', 'GET, HEAD, POST'],
    ['/users?page=1', 'GET, HEAD, POST'],
    ['/users?next=/users/me', 'GET, HEAD, POST'],
    ['/users/7', 'DELETE, PUT'],
    ['/users/me', 'DELETE, GET, PUT'],
    ['/users/7/roles/8', 'DELETE'],
    ['/files/v1.2/a/b', 'GET'],
    ['/files/v1x2/a', undefined],
    ['/users/', undefined],
    ['/users/7/', undefined],
    ['/users/7/roles', undefined],
    ['/user', undefined],
    ['/xusers', undefined],
    ['/', undefined],
    ['', undefined],
    ['/users\n', undefined],
  ];
  for (const [path, allow] of cases)
    test(`${JSON.stringify(path)} has ${allow ?? 'no route'}`, () => {
      assert.equal(table.methodsOf(path), allow);
    });

  test('a long hostile path is looked up in linear time', () => {
    const lookUp = (size: number) => assert.equal(table.methodsOf(`/users/${'a/'.repeat(size)}`), undefined);
    assertLinear('a look-up', lookUp, 100_000);
  });
});

// Tests which schemas share a compiled serializer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { compileSerializer } from './serialization.ts';

const compile = (schema: unknown) =>
  compileSerializer({ schema, method: 'GET', url: '/', httpStatus: '200' });

test('equal schemas share one serializer across routes', () => {
  const make = () => Type.Object({ name: Type.String() });
  assert.equal(compile(make()), compile(make()));
});

test('different schemas have different serializers', () => {
  const narrow = compile(Type.Object({ data: Type.Object({ name: Type.String() }) }));
  const wide = compile(Type.Object({ data: Type.Object({ name: Type.String(), id: Type.Integer() }) }));
  const answer = { data: { name: 'a', id: 1, secret: 'x' } };
  assert.equal(narrow(answer), '{"data":{"name":"a"}}');
  assert.equal(wide(answer), '{"data":{"name":"a","id":1}}');
});

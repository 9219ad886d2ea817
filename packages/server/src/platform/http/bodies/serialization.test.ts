// Tests when schemas are compiled, and which of them share a serializer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { compileSerializer } from './serialization.ts';

const compile = (schema: unknown) =>
  compileSerializer({ schema, method: 'GET', url: '/', httpStatus: '200' });

test('a schema is compiled at its first use', () => {
  const serialize = compile({ type: 'object', properties: { name: { type: 'no type' } } });
  assert.throws(() => serialize({ name: 'a' }));
});

test('equal schemas share one serializer across routes', () => {
  let reads = 0;
  const make = () => ({
    type: 'object',
    get properties() {
      reads += 1;
      return { shared: { type: 'string' } };
    },
  });
  assert.equal(compile(make())({ shared: 'a' }), '{"shared":"a"}');
  const readsOfFirst = reads;
  assert.equal(compile(make())({ shared: 'b' }), '{"shared":"b"}');
  assert.equal(reads - readsOfFirst, 1, 'the second one is only turned into JSON');
});

test('different schemas have different serializers', () => {
  const narrow = compile(Type.Object({ data: Type.Object({ name: Type.String() }) }));
  const wide = compile(Type.Object({ data: Type.Object({ name: Type.String(), id: Type.Integer() }) }));
  const answer = { data: { name: 'a', id: 1, secret: 'x' } };
  assert.equal(narrow(answer), '{"data":{"name":"a"}}');
  assert.equal(wide(answer), '{"data":{"name":"a","id":1}}');
});

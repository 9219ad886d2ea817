import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Type, { type TSchema } from 'typebox';
import { AppError } from '../../errors.ts';
import { signedInBody } from './body-limits.ts';
import { compileSchema, refuseHostileText, ShapeError, shapeRefusal } from './validation.ts';

const ID = '0190a5c4-7e2b-7c3d-8e9f-1a2b3c4d5e6f';

/** Returns the result of the compiled schema for a value. */
function check(
  schema: TSchema,
  value: unknown,
  httpPart: 'body' | 'querystring' | 'params' = 'body',
): { value?: unknown; error?: unknown } {
  const validate = compileSchema({ schema, httpPart, method: 'POST', url: '/' });
  return validate(value) as { value?: unknown; error?: unknown };
}

function refusal(schema: TSchema, value: unknown, httpPart?: 'body' | 'querystring' | 'params'): AppError {
  const { error } = check(schema, value, httpPart);
  assert.ok(error instanceof ShapeError, `${JSON.stringify(value)} was accepted`);
  return shapeRefusal(error, 'validation_failed');
}

describe('bodies', () => {
  const schema = Type.Object({ name: Type.String({ minLength: 1 }), age: Type.Optional(Type.Integer()) });

  test('are never converted between text and number', () => {
    assert.equal(refusal(schema, { name: 5 }).code, 'validation_failed');
    assert.equal(refusal(schema, { name: 'a', age: '5' }).code, 'validation_failed');
    assert.deepEqual(check(schema, { name: 'a', age: 5 }).value, { name: 'a', age: 5 });
  });

  test('contain only finite numbers', () => {
    const count = Type.Object({ count: Type.Number() });
    assert.equal(refusal(count, JSON.parse('{"count":1e400}')).code, 'validation_failed');
  });

  test('keep fields that the schema does not declare', () => {
    const body = { name: 'a', other: 1 };
    assert.equal(check(schema, body).value, body);
    assert.deepEqual(body, { name: 'a', other: 1 });
  });

  test('a missing body gets another error than an invalid one', () => {
    assert.equal(refusal(schema, null).code, 'malformed_json');
    assert.equal(refusal(schema, []).code, 'validation_failed');
    assert.equal(refusal(schema, 'null').code, 'validation_failed');
  });

  test('every problem is named, as a sentence and by field', () => {
    const { message, extras } = refusal(schema, { name: '', age: 1.5 });
    assert.equal(message, 'name must not be empty; age must be integer.');
    assert.deepEqual(extras.errors, [
      { field: 'name', code: 'too_short', message: 'must not be empty' },
      { field: 'age', code: 'wrong_type', message: 'must be integer' },
    ]);
  });

  test('a nested field has a dotted path, also with unusual names', () => {
    const deep = Type.Object({ 'a/b': Type.Array(Type.Object({ 'c~d': Type.String() })) });
    assert.equal(refusal(deep, { 'a/b': [{ 'c~d': 'x' }, {}] }).extras.errors?.[0]?.field, 'a/b.1.c~d');
  });

  test('the list of problems is cut, so that the response stays smaller than the request', () => {
    const many = Type.Array(Type.Integer());
    assert.equal(
      refusal(
        many,
        Array.from({ length: 500 }, () => 'x'),
      ).extras.errors?.length,
      20,
    );
  });

  test('a large body gets only its first problem', () => {
    const many = Type.Array(Type.Integer());
    const of = (count: number) => {
      const body = Array.from({ length: count }, () => 'x');
      refuseHostileText(body, signedInBody.values);
      return refusal(many, body).extras.errors?.length;
    };
    assert.equal(of(200), 20);
    assert.equal(of(201), 1);
  });

  test('a union that also allows no body reports only the fields', () => {
    const union = Type.Union([Type.Object({ token: Type.String() }), Type.Null()]);
    const { extras } = refusal(union, { token: 5 });
    assert.deepEqual(extras.errors, [{ field: 'token', code: 'wrong_type', message: 'must be string' }]);
    assert.equal(check(union, null).error, undefined);
  });
});

describe('ids', () => {
  const schema = Type.Object({ id: Type.String({ format: 'uuid' }) });

  test('are accepted in any version and case', () => {
    for (const id of [ID, ID.toUpperCase(), '00000000-0000-0000-0000-000000000000'])
      assert.equal(check(schema, { id }).error, undefined, id);
  });

  test('are refused with 400 in any other form, not 422', () => {
    const strangers = [
      '',
      '1',
      `${ID} `,
      ` ${ID}`,
      `${ID}\n`,
      ID.replaceAll('-', ''),
      `{${ID}}`,
      `urn:uuid:${ID}`,
    ];
    for (const id of strangers) {
      const error = refusal(schema, { id });
      assert.equal(error.code, 'invalid_id', JSON.stringify(id));
      assert.equal(error.status, 400);
    }
  });

  test('get the status of another problem if there is one', () => {
    const both = Type.Object({ id: Type.String({ format: 'uuid' }), name: Type.String() });
    assert.equal(refusal(both, { id: 'x' }).code, 'validation_failed');
  });
});

describe('queries and paths', () => {
  const schema = Type.Object({
    page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 1 })),
    active: Type.Optional(Type.Boolean()),
    ids: Type.Optional(Type.Array(Type.String())),
  });

  test('are converted, because they arrive as text', () => {
    assert.deepEqual(check(schema, { page: '2', active: 'true', ids: 'a' }, 'querystring').value, {
      page: 2,
      active: true,
      ids: ['a'],
    });
    assert.deepEqual(check(schema, {}, 'querystring').value, { page: 1 });
  });

  test('accept integers in decimal digits only, and report each other one once', () => {
    for (const page of ['0x10', '0b11', '1e1', '+5', ' 5', '5 ', '', '1.0', '٣', '-'])
      assert.deepEqual(
        refusal(schema, { page, active: 'perhaps' }, 'querystring').extras.errors?.map(({ field }) => field),
        ['query.page', 'query.active'],
        page,
      );
    assert.equal(refusal(schema, { page: '-5' }, 'querystring').extras.errors?.[0]?.code, 'out_of_range');
    assert.deepEqual(check(schema, { page: '007' }, 'querystring').value, { page: 7 });
  });

  test('are refused with the part of the request that contains them', () => {
    for (const page of ['0', '-1', '1.5', 'x', '1e400', '0x10abc', ['1', '2']])
      assert.equal(
        refusal(schema, { page }, 'querystring').extras.errors?.[0]?.field,
        'query.page',
        String(page),
      );
    const path = Type.Object({ user_id: Type.String({ format: 'uuid' }) });
    assert.equal(refusal(path, { user_id: 'me' }, 'params').extras.errors?.[0]?.field, 'path.user_id');
  });
});

describe('hostile text', () => {
  const refused = (value: unknown): unknown => {
    try {
      refuseHostileText(value);
      return undefined;
    } catch (error) {
      assert.ok(error instanceof AppError);
      return error.code;
    }
  };

  test('NUL and lone surrogates are found in values and keys at every depth', () => {
    for (const value of ['\0', 'a\0b', '\ud800', '\udc00', 'x\udbff', '\udc00\ud800'])
      for (const body of [
        value,
        [value],
        { a: value },
        { a: [{ b: value }] },
        { [value]: 1 },
        { a: { [value]: null } },
      ])
        assert.equal(refused(body), 'invalid_text', JSON.stringify(body));
  });

  test('too many values are refused at the first one over the limit, whatever follows', () => {
    assert.equal(refused(Array(200).fill(0)), undefined);
    assert.equal(refused([...Array(200).fill(0), '\0']), 'body_too_large');
    assert.equal(refused(Array(50).fill({ a: 1, b: [2] })), undefined);
    assert.equal(refused(Array(51).fill({ a: 1, b: [2] })), 'body_too_large');
  });

  test('all other text passes: control, astral and unassigned characters', () => {
    for (const body of [undefined, null, 0, false, '', 'a\tb\n', '𝒜', '\ufffe', '\u202e', { a: ['é'] }])
      assert.equal(refused(body), undefined, JSON.stringify(body));
  });

  test('32 levels pass, 33 do not, and 100,000 do not overflow the stack', () => {
    const nested = (levels: number): unknown => {
      let value: unknown = 1;
      for (let level = 0; level < levels; level += 1) value = level % 2 ? { a: value } : [value];
      return value;
    };
    assert.equal(refused(nested(32)), undefined);
    assert.equal(refused(nested(33)), 'malformed_json');
    assert.equal(refused(nested(100_000)), 'malformed_json');
  });
});

// Requests made from the OpenAPI document: such as it allows, and near-misses of them.
// Ids and addresses that exist are left as placeholders, so that one seed means the same requests in every run.
import fc, { type Arbitrary } from 'fast-check';
import type { JsonSchema, OpenApiDocument, Operation } from '../../src/platform/http/reference/openapi.ts';

export type Entry = { name: string; method: string; path: string; operation: Operation };

/** As generated. Strings such as `@role:17` stand for an existing record: see `resolve`. */
export type Draft = {
  params: Record<string, string>;
  query: Record<string, unknown>;
  headers: Record<string, string>;
  body: { json: unknown } | { raw: string } | null;
};

export type Kind = 'user' | 'role' | 'role_group' | 'permission' | 'permission_group' | 'session' | 'email';

export function operationsOf(document: OpenApiDocument): Entry[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      operation,
    })),
  );
}

/** Which records an id in this field names. */
function kindOf(field: string, path: string): Kind {
  const groups = path.includes('role-groups') ? 'role_group' : 'permission_group';
  const known: [RegExp, Kind][] = [
    [/^(user_ids?|actor_id|resource_id)$/, 'user'],
    [/^role_group_id$/, 'role_group'],
    [/^role_ids?$/, 'role'],
    [/^permission_group_id$/, 'permission_group'],
    [/^permission_ids?$/, 'permission'],
    [/^session_id$/, 'session'],
    [/^id$/, 'user'],
  ];
  return known.find(([pattern]) => pattern.test(field))?.[1] ?? groups;
}

const existing = (kind: Kind): Arbitrary<string> => fc.nat(999).map((number) => `@${kind}:${number}`);

const idOf = (field: string, path: string): Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: existing(kindOf(field, path)) },
    { weight: 1, arbitrary: fc.uuid() },
    { weight: 1, arbitrary: fc.uuid().map((id) => id.toUpperCase()) },
  );

// Longer texts would only make failures hard to read.
const MAX_TEXT = 40;

function textOf(schema: JsonSchema, field: string): Arbitrary<string> {
  const minLength = Number(schema.minLength ?? 0);
  const maxLength = Math.min(Number(schema.maxLength ?? MAX_TEXT), MAX_TEXT);
  const any: Arbitrary<string>[] = [
    fc.string({ minLength, maxLength }),
    fc.string({ unit: 'grapheme', minLength, maxLength }),
    fc.string({ unit: fc.constantFrom(...'ab *%_\\.<>@"\'\t\n'), minLength, maxLength }),
  ];
  if (schema.maxLength !== undefined) any.push(fc.constant('x'.repeat(Number(schema.maxLength))));
  const meant = meantFor(field);
  // Mostly what the service takes, or nothing would ever be made.
  return meant ? fc.oneof({ weight: 8, arbitrary: meant }, fc.oneof(...any)) : fc.oneof(...any);
}

function meantFor(field: string): Arbitrary<string> | undefined {
  const made = fc.nat(99_999_999);
  if (/email/.test(field))
    return fc.oneof(
      existing('email'),
      made.map((number) => `Made-${number}@example.com`),
    );
  if (/password/.test(field)) return fc.constantFrom('Vexing#Quartz82Lime', 'QaRegisterPass!47', 'weak');
  if (/name$/.test(field)) return made.map((number) => `Name-${number}`);
  if (field === 'description') return fc.constantFrom('', 'What it is for');
  return undefined;
}

function arbitraryOf(
  schema: JsonSchema,
  field: string,
  path: string,
  document: OpenApiDocument,
  whole: boolean,
): Arbitrary<unknown> {
  const recur = (one: unknown, name = field) => arbitraryOf(one as JsonSchema, name, path, document, whole);
  if (typeof schema.$ref === 'string') {
    const steps = schema.$ref.split('/').slice(1);
    return recur(steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document));
  }
  if (Array.isArray(schema.anyOf)) {
    const branches = schema.anyOf.filter((one) => !whole || one.type !== 'null');
    return fc.oneof(...branches.map((one) => recur(one)));
  }
  if (Array.isArray(schema.allOf))
    return fc.tuple(...schema.allOf.map((one) => recur(one))).map((parts) => Object.assign({}, ...parts));
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  if ('const' in schema) return fc.constant(schema.const);
  switch (schema.type) {
    case 'object': {
      const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
      return fc.record(
        Object.fromEntries(properties.map(([name, one]) => [name, recur(one, name)])),
        whole ? {} : { requiredKeys: (schema.required ?? []) as string[] },
      );
    }
    case 'array':
      return fc.array(recur(schema.items), {
        minLength: Math.max(Number(schema.minItems ?? 0), whole ? 1 : 0),
        maxLength: 4,
      });
    case 'integer':
      return fc.oneof(
        fc.constantFrom(schema.minimum, schema.maximum),
        fc.integer({ min: Number(schema.minimum), max: Math.min(Number(schema.maximum), 20) }),
      );
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'string':
      if (schema.format === 'uuid') return idOf(field, path);
      if (schema.format === 'date-time')
        return fc
          .date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') })
          .map((date) => date.toISOString());
      return textOf(schema, field);
    default:
      throw new Error(`${path}: no values for ${JSON.stringify(schema)}`);
  }
}

const headerValues: Record<string, Arbitrary<string>> = {
  'If-Match': fc.constantFrom('*', '*', '*', '*', '"1"', '"2", "3"', 'W/"1"', 'nonsense', '"'),
  'Idempotency-Key': fc.oneof(
    { weight: 3, arbitrary: fc.uuid() },
    fc.constantFrom('one', 'two', 'x'.repeat(255), 'no key', 'x'.repeat(256)),
  ),
};

/** What the document allows; `whole`: with everything that may be left out. */
export function allowed(
  { path, operation }: Entry,
  document: OpenApiDocument,
  whole = false,
): Arbitrary<Draft> {
  const parameters = operation.parameters ?? [];
  const recordOf = (place: string): Arbitrary<Record<string, never>> => {
    const there = parameters.filter((one) => one.in === place);
    const values = there.map((one) => [
      one.name,
      place === 'header' ? headerValues[one.name] : arbitraryOf(one.schema, one.name, path, document, whole),
    ]);
    const requiredKeys = there.filter((one) => one.required).map((one) => one.name);
    return fc.record(Object.fromEntries(values), whole ? {} : { requiredKeys }) as Arbitrary<
      Record<string, never>
    >;
  };
  const schema = operation.requestBody?.content['application/json']?.schema;
  const json = schema
    ? arbitraryOf(schema, '', path, document, whole).map((value) => ({ json: value }))
    : fc.constant(null);
  const body = operation.requestBody?.required === false && !whole ? fc.oneof(json, fc.constant(null)) : json;
  return fc.record({
    params: recordOf('path'),
    query: recordOf('query'),
    headers: fc
      .tuple(
        recordOf('header'),
        fc.constantFrom<Record<string, string>>({}, {}, {}, { Accept: 'application/problem+json' }),
      )
      .map(([one, other]) => ({ ...one, ...other })),
    body,
  });
}

const odd = fc.constantFrom<unknown>(
  null,
  0,
  -1,
  1.5,
  1e300,
  true,
  '',
  ' ',
  'x',
  '\u0000',
  '\ud800',
  '00000000-0000-4000-8000-00000000000',
  'x'.repeat(5_000),
  [],
  [[]],
  [null],
  {},
  { __proto__x: 1 },
);
const rawBodies = ['', '{', 'null', '""', '[]', '{}', '{"a":1e400}', `${'['.repeat(40)}${']'.repeat(40)}`];

/** The way to a place in a JSON value: keys and indexes, outermost first. */
export type Place = (string | number)[];

/** Every place in a JSON value that holds something, outermost first. */
export function placesIn(value: unknown, at: Place = []): Place[] {
  if (value === null || typeof value !== 'object') return [at];
  return [
    at,
    ...Object.entries(value).flatMap(([key, child]) =>
      placesIn(child, [...at, Array.isArray(value) ? Number(key) : key]),
    ),
  ];
}

/** The value with another one at this place; undefined takes the place away. */
export function replacedAt(value: unknown, place: Readonly<Place>, by: unknown): unknown {
  const [step, ...rest] = place;
  if (step === undefined) return by;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<
    string | number,
    unknown
  >;
  copy[step] = replacedAt(copy[step], rest, by);
  return copy;
}

/** One thing about it is not as the document wants it. */
export function nearMiss(entry: Entry, document: OpenApiDocument): Arbitrary<Draft> {
  return fc
    .record({
      draft: allowed(entry, document),
      where: fc.nat(999),
      by: fc.option(odd, { nil: undefined }),
      how: fc.nat(5),
    })
    .map(({ draft, where, by, how }) => {
      const text = typeof by === 'object' || by === undefined ? '1e400' : String(by).toWellFormed();
      const names = (values: object) => Object.keys(values)[where % Math.max(1, Object.keys(values).length)];
      const [param, query] = [names(draft.params), names(draft.query)];
      // An empty part of a path, or a dot, would be another address.
      if (how === 0 && param)
        return { ...draft, params: { ...draft.params, [param]: `x${text.slice(0, 200)}` } };
      if (how === 1) return { ...draft, query: { ...draft.query, [query ?? 'unknown']: text } };
      if (how === 2 && draft.body)
        return { ...draft, body: { raw: rawBodies[where % rawBodies.length] as string } };
      if (how === 3 && draft.body)
        return { ...draft, headers: { ...draft.headers, 'Content-Type': 'text/plain' } };
      if (!draft.body || !('json' in draft.body)) return draft;
      const places = placesIn(draft.body.json);
      return {
        ...draft,
        body: { json: replacedAt(draft.body.json, places[where % places.length] ?? [], by) },
      };
    });
}

/** With every placeholder replaced: the number counts around what there is. */
export function resolve<T>(value: T, records: Record<Kind, readonly string[]>): T {
  return JSON.parse(JSON.stringify(value ?? null), (_key, inner: unknown) => {
    const match = typeof inner === 'string' ? /^@(\w+):(\d+)$/.exec(inner) : null;
    const there = match ? records[match[1] as Kind] : [];
    return match ? (there?.[Number(match[2]) % (there.length || 1)] ?? inner) : inner;
  });
}

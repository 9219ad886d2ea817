// Generates requests from the OpenAPI document: valid ones, and ones with a single mistake.
// Existing ids and emails are placeholders, so that one seed generates the same requests in every run.
import { idListNames } from '@castellan/contract/access-fields';
import type { JsonSchema, OpenApiDocument, Operation, Parameter } from '@castellan/openapi';
import fc, { type Arbitrary } from 'fast-check';
import { FORM_TYPE } from '../service-accounts/token-services.ts';

export type Entry = { name: string; method: string; path: string; operation: Operation };

/** A generated request. A string such as `@role:17` stands for an existing record; see `resolve`. */
export type Draft = {
  params: Record<string, string>;
  query: Record<string, unknown>;
  headers: Record<string, string>;
  body: { json: unknown } | { raw: string } | null;
};

export type Kind =
  | 'user'
  | 'role'
  | 'role_group'
  | 'permission'
  | 'permission_group'
  | 'session'
  | 'device'
  | 'service_account'
  | 'api_key'
  | 'personal_token'
  | 'application'
  | 'secret'
  | 'api_resource'
  | 'user_attribute'
  | 'identity_provider'
  | 'webhook'
  | 'delivery'
  | 'access_grant'
  | 'identity'
  | 'audit_entry'
  | 'seal_log'
  | 'email';

/** Browsers are sent to these: they answer by redirects and pages. */
const ofBrowsers = /\/(oauth\/(authorize|logout)|providers\/\{slug\}\/(callback|signed-out))$/;

/** Returns the operations that programs call. */
export function operationsOf(document: OpenApiDocument): Entry[] {
  const paths = Object.entries(document.paths).filter(([path]) => !ofBrowsers.test(path));
  return paths.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      operation,
    })),
  );
}

/** Returns the kind of record that an id in this field names. */
function kindOf(field: string, path: string): Kind {
  const groups = path.includes('role-groups') ? 'role_group' : 'permission_group';
  const known: [RegExp, Kind][] = [
    [/^(user_ids?|actor_id|acted_by_id|resource_id|after)$/, 'user'],
    [/^role_group_id$/, 'role_group'],
    [/^((add_|remove_)?role_ids?|roles)$/, 'role'],
    [/^permission_group_id$/, 'permission_group'],
    [/^((add_|remove_)?permission_ids?|permissions)$/, 'permission'],
    [/^session_id$/, 'session'],
    [/^audit_log_id$/, 'audit_entry'],
    [/^log$/, 'seal_log'],
    [/^device_id$/, 'device'],
    [/^service_account_id$/, 'service_account'],
    [/^key_id$/, 'api_key'],
    [/^token_id$/, 'personal_token'],
    [/^api_resource_id$/, 'api_resource'],
    [/^attribute_id$/, 'user_attribute'],
    [/^webhook_id$/, 'webhook'],
    [/^provider_id$/, 'identity_provider'],
    [/^permission_group_ids$/, 'permission_group'],
    [/^application_id$/, 'application'],
    [/^(grant_id|cursor)$/, 'access_grant'],
    [/^secret_id$/, 'secret'],
    [/^identity_id$/, 'identity'],
    [/^required_permission_id$/, 'permission'],
    // No caller has one: the address of these services has no passkeys.
    [/^passkey_id$/, 'api_key'],
    [/^id$/, 'user'],
    [/^(group_ids?|parent_id|)$/, groups],
  ];
  const kind = known.find(([pattern]) => pattern.test(field))?.[1];
  if (!kind) throw new Error(`${path}: say in kindOf which records an id in ${field} names`);
  return kind;
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
  // Mostly values that the service accepts; otherwise no record would ever be created.
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
  if (field === 'identifier') return made.map((number) => `https://api-${number}.example.com`);
  if (field === 'client_id') return made.map((number) => `app-${number}`);
  // Nothing listens there: a test of a webhook fails at once.
  if (field === 'url') return made.map((number) => `http://127.0.0.1:1/${number}`);
  if (field === 'events') return fc.constantFrom('*', 'role_*', 'user_created');
  if (field === 'type') return fc.constantFrom('user_created', 'role_created');
  if (field === 'slug') return made.map((number) => `provider-${number}`);
  if (field === 'issuer') return made.map((number) => `https://id-${number}.example.com`);
  if (field === 'domains') return made.map((number) => `d${number}.example.com`);
  if (field === 'sector') return fc.constantFrom('example.com', 'app.example.com');
  if (field === 'allowed_origins') return made.map((number) => `https://app-${number}.example.com`);
  if (/_(uris|url)$/.test(field)) return made.map((number) => `https://app.example.com/${number}`);
  if (field === 'address') return fc.constantFrom('127.0.0.1', '127.0.0.0/8', '2001:db8::/32');
  if (field === 'description') return fc.constantFrom('', 'What it is for');
  return undefined;
}

type Context = {
  /** Path of the operation that the schema belongs to. */
  path: string;
  /** Resolves references. */
  document: OpenApiDocument;
  /** Whether to generate everything that is optional. */
  whole: boolean;
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** Keeps one of the names under which a list of ids stands: names that hold different ids are refused. */
function withOneName(object: Record<string, unknown>, choice: number): Record<string, unknown> {
  const dropped = idListNames.flatMap((names: readonly string[]) => {
    const given = names.filter((name) => name in object);
    return given.length < 2 ? [] : given.filter((_name, index) => index !== choice % given.length);
  });
  return Object.fromEntries(Object.entries(object).filter(([name]) => !dropped.includes(name)));
}

function arbitraryOf(schema: unknown, field: string, context: Context): Arbitrary<unknown> {
  const { path, document, whole } = context;
  if (!isObject(schema)) throw new Error(`${path}: ${JSON.stringify(schema)} is not a schema`);
  const recur = (one: unknown, name = field) => arbitraryOf(one, name, context);
  if (typeof schema.$ref === 'string') {
    const steps = schema.$ref.split('/').slice(1);
    return recur(steps.reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), document));
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
      const properties = Object.entries(isObject(schema.properties) ? schema.properties : {});
      return fc
        .tuple(
          fc.record(
            Object.fromEntries(properties.map(([name, one]) => [name, recur(one, name)])),
            whole ? {} : { requiredKeys: Array.isArray(schema.required) ? schema.required : [] },
          ),
          fc.nat(),
        )
        .map(([object, choice]) => withOneName(object, choice));
    }
    case 'array':
      return fc.array(recur(schema.items), {
        minLength: Math.max(Number(schema.minItems ?? 0), whole ? 1 : 0),
        maxLength: 4,
      });
    case 'integer': {
      // Without limits of its own, an integer is one that JSON keeps exactly.
      const min = Number(schema.minimum ?? Number.MIN_SAFE_INTEGER);
      const max = Number(schema.maximum ?? Number.MAX_SAFE_INTEGER);
      return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max: Math.min(max, min + 20) }));
    }
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'string':
      if (schema.format === 'uuid') return idOf(field, path);
      // Deliveries alone have a number as their id.
      if (schema.format === 'int64')
        return fc.oneof(
          { weight: 8, arbitrary: existing('delivery') },
          { weight: 1, arbitrary: fc.integer({ min: 1 }).map(String) },
        );
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
  // A star matches any response.
  'If-None-Match': fc.constantFrom('*', '"1"', 'W/"1", W/"2"', 'nonsense', '"'),
  'Idempotency-Key': fc.oneof(
    { weight: 3, arbitrary: fc.uuid() },
    fc.constantFrom('one', 'two', 'x'.repeat(255), 'no key', 'x'.repeat(256)),
  ),
};

function headerValuesOf({ name }: Parameter): Arbitrary<string> {
  const values = headerValues[name];
  if (!values) throw new Error(`no values for the header ${name}`);
  return values;
}

/** Generates requests that the document allows. With `whole` they contain everything that is optional. */
export function allowed(
  { path, operation }: Entry,
  document: OpenApiDocument,
  whole = false,
): Arbitrary<Draft> {
  const parameters = operation.parameters ?? [];
  const context = { path, document, whole };
  const recordOf = <T>(
    place: string,
    valuesOf: (parameter: Parameter) => Arbitrary<T>,
  ): Arbitrary<Record<string, T>> => {
    const there = parameters.filter((one) => one.in === place);
    const values = Object.fromEntries(there.map((one) => [one.name, valuesOf(one)]));
    const requiredKeys = there.filter((one) => one.required).map((one) => one.name);
    return whole ? fc.record(values) : fc.record(values, { requiredKeys });
  };
  const bySchema = (one: Parameter): Arbitrary<unknown> => arbitraryOf(one.schema, one.name, context);
  const [[type, media] = []] = Object.entries(operation.requestBody?.content ?? {});
  const isForm = type === FORM_TYPE;
  const given = media
    ? arbitraryOf(media.schema, '', context).map((value) =>
        isForm ? { raw: formOf(value) } : { json: value },
      )
    : fc.constant(null);
  const body =
    operation.requestBody?.required === false && !whole ? fc.oneof(given, fc.constant(null)) : given;
  return fc.record({
    params: recordOf('path', (one) => bySchema(one).map(String).filter(isSegment)),
    query: recordOf('query', bySchema),
    headers: fc
      .tuple(
        recordOf('header', headerValuesOf),
        fc.constantFrom<Record<string, string>>({}, {}, {}, { Accept: 'application/problem+json' }),
      )
      .map(([one, other]) => ({ ...one, ...other, ...(isForm ? { 'Content-Type': FORM_TYPE } : {}) })),
    body,
  });
}

/** Whether a text stays what it is in a path: without it, or with a dot, the URL is another one. */
const isSegment = (text: string): boolean => !/^\.{0,2}$/.test(text);

/** Returns whether the operation takes a form instead of JSON. */
export const takesForm = ({ operation }: Entry): boolean =>
  operation.requestBody?.content[FORM_TYPE] !== undefined;

const formOf = (value: unknown): string =>
  new URLSearchParams(
    Object.entries(isObject(value) ? value : {}).map(([name, one]): [string, string] => [
      name,
      String(one).toWellFormed(),
    ]),
  ).toString();

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

/** The path to a value inside a JSON value: keys and indexes, outermost first. */
export type JsonPath = (string | number)[];

/** Returns the paths of all values inside a JSON value, outermost first. */
export function pathsIn(value: unknown, at: JsonPath = []): JsonPath[] {
  if (value === null || typeof value !== 'object') return [at];
  return [
    at,
    ...Object.entries(value).flatMap(([key, child]) =>
      pathsIn(child, [...at, Array.isArray(value) ? Number(key) : key]),
    ),
  ];
}

/** Returns a copy of the value with another value at this path; undefined removes the property. */
export function replacedAt(value: unknown, place: Readonly<JsonPath>, by: unknown): unknown {
  const [step, ...rest] = place;
  if (step === undefined) return by;
  if (Array.isArray(value)) {
    const copy = [...value];
    copy[Number(step)] = replacedAt(copy[Number(step)], rest, by);
    return copy;
  }
  const copy: Record<string, unknown> = isObject(value) ? { ...value } : {};
  copy[step] = replacedAt(copy[step], rest, by);
  return copy;
}

/** Generates requests that violate the document in one respect. */
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
      if (how === 0 && param)
        return { ...draft, params: { ...draft.params, [param]: `x${text.slice(0, 200)}` } };
      if (how === 1) return { ...draft, query: { ...draft.query, [query ?? 'unknown']: text } };
      if (how === 2 && draft.body)
        return { ...draft, body: { raw: rawBodies[where % rawBodies.length] ?? '' } };
      if (how === 3 && draft.body)
        return { ...draft, headers: { ...draft.headers, 'Content-Type': 'text/plain' } };
      if (!draft.body || !('json' in draft.body)) return draft;
      const places = pathsIn(draft.body.json);
      return {
        ...draft,
        body: { json: replacedAt(draft.body.json, places[where % places.length] ?? [], by) },
      };
    });
}

/** Replaces every placeholder by an existing record; its number wraps around the number of records. */
export function resolve<T>(value: T, records: Record<Kind, readonly string[]>): T {
  const known = new Map<string, readonly string[]>(Object.entries(records));
  return JSON.parse(JSON.stringify(value ?? null), (_key, inner: unknown) => {
    const [, kind = '', number] = typeof inner === 'string' ? (/^@(\w+):(\d+)$/.exec(inner) ?? []) : [];
    const ids = known.get(kind) ?? [];
    return ids[Number(number) % (ids.length || 1)] ?? inner;
  });
}

// Finds every field of an operation in requests generated from the OpenAPI document, and builds requests with one field
// changed. It must not send anything.
import assert from 'node:assert/strict';
import type { JsonSchema, OpenApiDocument } from '@castellan/openapi';
import {
  allowed,
  type Draft,
  type Entry,
  type Kind,
  pathsIn,
  replacedAt,
  resolve,
} from '@castellan/testing/conformance/requests';
import fc from 'fast-check';

export type Attempt = Draft & { cookies: Record<string, string> };

type Spot = { draft: Draft; at: (string | number)[] };
export type Field = {
  entry: Entry;
  in: 'path' | 'query' | 'header' | 'cookie' | 'body';
  /** The name of the field; indexes of arrays are written as `[]`. */
  name: string;
  /** Different requests that contain the field. */
  spots: readonly Spot[];
  /** Whether every request may carry the field, not only this operation. */
  common: boolean;
};

const SAMPLES = 24;
const SPOTS = 3;
const bodyName = (at: readonly (string | number)[]): string =>
  at.map((step) => (typeof step === 'number' ? '[]' : step)).join('.');

const commonHeaders = [
  'accept',
  'authorization',
  'origin',
  'user-agent',
  'x-csrf-token',
  'x-forwarded-for',
  'x-request-id',
];
const placesOf = ({ params, query, headers, body }: Draft): [Field['in'], (string | number)[]][] => [
  ...Object.keys(params).map((name): [Field['in'], string[]] => ['path', [name]]),
  ...Object.keys(query).map((name): [Field['in'], string[]] => ['query', [name]]),
  ...Object.keys(headers).map((name): [Field['in'], string[]] => ['header', [name]]),
  ...(body && 'json' in body ? pathsIn(body.json) : []).map((at): [Field['in'], (string | number)[]] => [
    'body',
    at,
  ]),
];

/**
 * Returns the fields that the document names, and those that every request may carry. Throws if one is never generated.
 */
export function fieldsOf(entry: Entry, document: OpenApiDocument, seed: number): Field[] {
  const drafts = [true, false].flatMap((whole) =>
    fc.sample(allowed(entry, document, whole), { seed, numRuns: SAMPLES }),
  );
  const found = new Map<string, Spot[]>();
  for (const draft of drafts)
    for (const [where, at] of placesOf(draft)) {
      const key = `${where} ${bodyName(at)}`;
      const spots = found.get(key) ?? [];
      found.set(key, spots);
      // The first comes from a complete request, the others from smaller ones.
      if (spots.length < (drafts.indexOf(draft) < SAMPLES ? 1 : SPOTS)) spots.push({ draft, at });
      // And one where no other parameter narrows the request.
      if (where === 'query' && spots.length === 1)
        spots.push({ draft: { ...draft, query: {}, headers: {} }, at });
    }
  const missing = namesIn(entry, document).filter((name) => !found.has(name));
  assert.deepEqual(missing, [], `${entry.name}: fields that no generated request has`);
  const own = [...found].map(([key, spots]): Field => {
    const [where = '', name = ''] = key.split(/ (.*)/s);
    return { entry, in: where as Field['in'], name, spots, common: name === 'Accept' };
  });
  const anywhere: [Field['in'], string][] = [
    ...commonHeaders.map((name): ['header', string] => ['header', name]),
    ['cookie', 'csrf_token'],
    ['cookie', 'refresh_token'],
  ];
  const first = { ...(drafts[0] as Draft), query: {}, headers: {} };
  const common = anywhere.map(
    ([where, name]): Field => ({
      entry,
      in: where,
      name,
      spots: [{ draft: first, at: [name] }],
      common: true,
    }),
  );
  return [...own.filter((field) => !field.common), ...common];
}

/** Returns the names that `fieldsOf` uses, directly from the schemas. */
function namesIn({ operation }: Entry, document: OpenApiDocument): string[] {
  const inBody = (schema: JsonSchema, at: string): string[] => {
    if (typeof schema.$ref === 'string') {
      const steps = schema.$ref.split('/').slice(1);
      const target = steps.reduce<unknown>(
        (inner, step) => (inner as Record<string, unknown>)[step],
        document,
      );
      return inBody(target as JsonSchema, at);
    }
    const below = (step: string) => (at === '' ? step : `${at}.${step}`);
    return [
      ...[schema.anyOf, schema.allOf].flat().flatMap((one) => (one ? inBody(one as JsonSchema, at) : [])),
      ...Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).flatMap(([name, one]) => [
        below(name),
        ...inBody(one, below(name)),
      ]),
      ...(schema.items ? [below('[]'), ...inBody(schema.items as JsonSchema, below('[]'))] : []),
    ];
  };
  const schema = operation.requestBody?.content['application/json']?.schema;
  return [
    ...(operation.parameters ?? []).map((one) => `${one.in} ${one.name}`),
    ...(schema ? inBody(schema, '').map((name) => `body ${name}`) : []),
  ];
}

// No generated value equals it.
const MARK = '@@ the value in question @@';

/**
 * Returns a valid request with this value in the field. `json` is raw JSON; outside of a body, a JSON string is
 * decoded.
 */
export function attempt(
  field: Field,
  json: string,
  number: number,
  records: Record<Kind, string[]>,
): Attempt {
  const spot = field.spots[number % field.spots.length] as Spot;
  const draft = { ...resolve(spot.draft, records), cookies: {} };
  const plain = (): string => {
    const value: unknown = JSON.parse(json);
    return typeof value === 'string' ? value : json;
  };
  switch (field.in) {
    case 'path':
      return { ...draft, params: { ...draft.params, [field.name]: plain() } };
    case 'query':
      return { ...draft, query: { ...draft.query, [field.name]: plain() } };
    case 'header':
      return { ...draft, headers: { ...draft.headers, [field.name]: plain() } };
    case 'cookie':
      return { ...draft, cookies: { [field.name]: plain() } };
    case 'body': {
      const body = draft.body && 'json' in draft.body ? draft.body.json : null;
      const raw = JSON.stringify(replacedAt(body, spot.at, MARK)).replace(JSON.stringify(MARK), () => json);
      return { ...draft, body: { raw } };
    }
  }
}

/** A key to add to an object; `value` is raw JSON. */
export type AddedKey = { key: string; value: string };

/** Returns a valid request with one more key, next to the field or inside it. */
export function withKey(
  field: Field,
  { key, value }: AddedKey,
  number: number,
  records: Record<Kind, string[]>,
): Attempt {
  const spot = field.spots[number % field.spots.length] as Spot;
  const draft = { ...resolve(spot.draft, records), cookies: {} };
  const body = draft.body && 'json' in draft.body ? draft.body.json : null;
  if (field.in !== 'body' || body === null)
    return { ...draft, query: { ...draft.query, [`${key}[is_superuser]`]: 'true', [`.${key}`]: value } };
  // In the object around the field. If that is an array, or the field is the whole body, in place of the field.
  const around = spot.at.slice(0, -1);
  const object = around.reduce<unknown>((at, step) => (at as Record<string | number, unknown>)[step], body);
  const isObject = typeof object === 'object' && object !== null && !Array.isArray(object);
  const marked = isObject ? { [MARK]: 0, ...object, [`${MARK}last`]: 0 } : { [MARK]: 0 };
  const raw = JSON.stringify(replacedAt(body, isObject ? around : spot.at, marked))
    .replace(`${JSON.stringify(MARK)}:0`, () => `${JSON.stringify(key)}:${value}`)
    .replace(`${JSON.stringify(`${MARK}last`)}:0`, () => `${JSON.stringify(key)}:${value}`);
  return { ...draft, body: { raw } };
}

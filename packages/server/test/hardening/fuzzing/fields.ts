// Every field of an operation, found in requests made from the OpenAPI document, and requests with one of them changed.
// It must not send anything.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { JsonSchema, OpenApiDocument } from '../../../src/platform/http/reference/openapi.ts';
import {
  allowed,
  type Draft,
  type Entry,
  type Kind,
  placesIn,
  replacedAt,
  resolve,
} from '../../conformance/requests.ts';

export type Attempt = Draft & { cookies: Record<string, string> };

type Spot = { draft: Draft; at: (string | number)[] };
export type Field = {
  entry: Entry;
  in: 'path' | 'query' | 'header' | 'cookie' | 'body';
  /** Indexes of arrays are written as `[]`. */
  name: string;
  /** Different requests that have it. */
  spots: readonly Spot[];
  /** Not of this operation: what every request may carry. */
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
  ...(body && 'json' in body ? placesIn(body.json) : []).map((at): [Field['in'], (string | number)[]] => [
    'body',
    at,
  ]),
];

/** The fields that the document names, and those that stand in every request. Fails when one is never generated. */
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
      // The first from a whole request, the others from smaller ones.
      if (spots.length < (drafts.indexOf(draft) < SAMPLES ? 1 : SPOTS)) spots.push({ draft, at });
      // And one where nothing else narrows what is asked for.
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

/** As `fieldsOf` names them, straight from the schemas. */
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

// No generated value reads like it.
const MARK = '@@ the value in question @@';

/** A request that is as it should be, but for this field. `json` is raw JSON; elsewhere a string in it stands for itself. */
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

/** A request that has, beside what it should have, this key next to or inside the field. `gift` is raw JSON. */
export function withKey(
  field: Field,
  key: string,
  gift: string,
  number: number,
  records: Record<Kind, string[]>,
): Attempt {
  const spot = field.spots[number % field.spots.length] as Spot;
  const draft = { ...resolve(spot.draft, records), cookies: {} };
  const body = draft.body && 'json' in draft.body ? draft.body.json : null;
  if (field.in !== 'body' || body === null)
    return { ...draft, query: { ...draft.query, [`${key}[is_superuser]`]: 'true', [`.${key}`]: gift } };
  // In the object around the field; where that is an array, or the field is the body, in its place.
  const around = spot.at.slice(0, -1);
  const object = around.reduce<unknown>((at, step) => (at as Record<string | number, unknown>)[step], body);
  const isObject = typeof object === 'object' && object !== null && !Array.isArray(object);
  const marked = isObject ? { [MARK]: 0, ...object, [`${MARK}last`]: 0 } : { [MARK]: 0 };
  const raw = JSON.stringify(replacedAt(body, isObject ? around : spot.at, marked))
    .replace(`${JSON.stringify(MARK)}:0`, () => `${JSON.stringify(key)}:${gift}`)
    .replace(`${JSON.stringify(`${MARK}last`)}:0`, () => `${JSON.stringify(key)}:${gift}`);
  return { ...draft, body: { raw } };
}

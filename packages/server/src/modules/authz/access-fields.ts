// Fields of a body that name access or state, and that the operation does not take: it refuses them unless they hold the
// present value, so that a record can be sent back whole. It also merges lists of ids that have several names.
// It must not know an operation: a route declares `statedOf`.
import {
  type AccessField,
  idListNames,
  isAccessField,
  operationsThatSet,
  otherNamesOf,
  type RecordKind,
} from '@castellan/contract/access-fields';
import type { FieldError } from '@castellan/contract/envelope';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../platform/errors.ts';
import { hook } from '../../platform/http/hooks.ts';
import { canonicalIds } from '../../platform/http/ids.ts';
import { readIfMatch, requireVersion } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { UUID } from '../../platform/ids.ts';
import { isObject } from '../../platform/unknown-values.ts';

type Path = readonly string[];
/** A record as a response would show it. Without `version`, If-Match does not count. */
export type Present = { record: object; version?: number };

export type StatedOf = {
  kind: RecordKind;
  /**
   * Returns the records that an object of the body is about, by its path. Without it, no field holds a present value.
   * Throws 404. It runs only if there is something to compare.
   */
  present?: (request: FastifyRequest) => Promise<(path: Path) => readonly Present[]>;
  /** Fields that the operation refuses with a separate code. */
  refusedByItself?: readonly AccessField[];
};

/** A field that the operation does not take. `isForm`: it takes the name, but not this form of the value. */
type Stated = { path: Path; name: AccessField; value: unknown; isForm: boolean };

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the body of a write is about: the fields of access and state that the operation does not take are refused. */
    statedOf?: StatedOf;
  }
  interface FastifyRequest {
    /** What the operation does not take; null until the body is read. */
    stated: readonly Stated[] | null;
  }
}

// A longer list would not help the caller.
const MAX_NAMED = 20;

/** Add it after authorization: the present value of a field is told only to callers who may use the operation. */
export function addAccessFields(app: App): void {
  app.decorateRequest('stated', null);
  app.addHook(
    'preValidation',
    hook((request) => {
      const { statedOf } = request.routeOptions.config;
      if (statedOf) request.stated = [...takeStated(request.body, schemaOf(request))];
    }),
  );
  app.addHook(
    'preHandler',
    hook((request) => {
      const { config } = request.routeOptions;
      if (!config.statedOf) return undefined;
      mergeNames(request.body, schemaOf(request), config.invalidInput ?? 'validation_failed');
      const { refusedByItself = [] } = config.statedOf;
      const stated = request.stated?.filter(({ name }) => !refusedByItself.includes(name)) ?? [];
      return stated.length > 0 ? refuseUnlessPresent(request, config.statedOf, stated) : undefined;
    }),
  );
}

/** Returns `present` for operations on the record that a path parameter names. */
export const recordNamed =
  (
    parameter: string,
    read: (id: string, params: Readonly<Record<string, unknown>>) => Promise<Present>,
  ): NonNullable<StatedOf['present']> =>
  async ({ params }) => {
    const given = isObject(params) ? params : {};
    const found = [await read(String(given[parameter]), given)];
    return () => found;
  };

/** Returns `present` for the creation of a record: what it has without the fields of the body. */
export const newRecord =
  (record: object): NonNullable<StatedOf['present']> =>
  async () =>
  () => [{ record }];

const schemaOf = ({ routeOptions: { schema } }: FastifyRequest): unknown => schema?.body;

/** Returns the schema with the branches that it combines. */
function branchesOf(schema: unknown): Record<string, unknown>[] {
  if (!isObject(schema)) return [];
  const branches = [schema.anyOf, schema.allOf].flatMap((some) => (Array.isArray(some) ? some : []));
  return [schema, ...branches.flatMap(branchesOf)];
}

/** Returns the schemas of the declared members. */
const membersOf = (branches: readonly Record<string, unknown>[]): Record<string, unknown> =>
  Object.assign({}, ...branches.map(({ properties }) => properties));

/** Returns each object of the body with the members that the schema declares for it, the outer ones first. */
function* objectsIn(
  value: unknown,
  schema: unknown,
  path: Path,
): Generator<{ object: Record<string, unknown>; members: Record<string, unknown>; path: Path }> {
  if (!isObject(value)) return;
  const branches = branchesOf(schema);
  // The members of a map are named by the sender.
  if (branches.some(({ patternProperties }) => patternProperties !== undefined)) return;
  if (Array.isArray(value)) {
    const items = { anyOf: branches.flatMap((branch) => branch.items ?? []) };
    if (items.anyOf.length > 0)
      for (const [index, item] of value.entries()) yield* objectsIn(item, items, [...path, String(index)]);
    return;
  }
  const members = membersOf(branches);
  yield { object: value, members, path };
  for (const name of Object.keys(members))
    if (Object.hasOwn(value, name)) yield* objectsIn(value[name], members[name], [...path, name]);
}

/**
 * Returns the fields of access or state that the operation does not take. A list that a response shows under a name of a
 * list of ids leaves the body, because it has no ids alone.
 */
function* takeStated(body: unknown, schema: unknown): Generator<Stated> {
  for (const { object, members, path } of objectsIn(body, schema, []))
    for (const [name, value] of Object.entries(object)) {
      if (!isAccessField(name)) continue;
      if (!(name in members)) yield { path, name, value, isForm: false };
      else if (hasOtherNames(members, name) && isShownList(object, name)) {
        delete object[name];
        yield { path, name, value, isForm: true };
      }
    }
}

/** Returns the declared names of the list of ids, the one that handlers get first. */
const declaredNames = (members: Record<string, unknown>, names: readonly string[]): string[] =>
  Object.keys(members).filter((name) => names.includes(name));

const hasOtherNames = (members: Record<string, unknown>, name: string): boolean =>
  declaredNames(members, otherNamesOf(name) ?? []).length > 1;

/** The names under which responses show lists. */
const shownNames: readonly string[] = ['roles', 'permissions'];

/**
 * Returns whether a list is one as responses show it: of records or names. An empty list is both, and counts as shown if
 * the ids stand under another name.
 */
function isShownList(object: Record<string, unknown>, name: string): boolean {
  const value = object[name];
  if (!Array.isArray(value) || !shownNames.includes(name)) return false;
  if (value.length === 0) return namesIn(object, otherNamesOf(name) ?? []).length > 1;
  return (
    value.every((one) => typeof one === 'string' || (isObject(one) && 'id' in one)) &&
    !value.every((one) => typeof one === 'string' && UUID.test(one))
  );
}

const namesIn = (object: object, names: readonly string[]): string[] =>
  names.filter((name) => Object.hasOwn(object, name));

/** Moves each list of ids to the name that handlers know. Throws `code` if the body has several that differ. */
function mergeNames(body: unknown, schema: unknown, code: 'invalid_input' | 'validation_failed'): void {
  for (const { object, members, path } of objectsIn(body, schema, []))
    for (const names of idListNames) {
      const [main, ...others] = declaredNames(members, names);
      if (main === undefined || others.length === 0) continue;
      const given = namesIn(object, names);
      const lists = new Set(given.map((name) => JSON.stringify(canonicalIds(idsIn(object[name])))));
      if (lists.size > 1) {
        const field = [...path, given[1]].join('.');
        const message = `names other ids than ${given[0]}, which is the same field`;
        throw new AppError(code, {
          detail: `${field} ${message}. Send one of them.`,
          errors: [{ field, code: 'ambiguous', message }],
        });
      }
      const [first] = given;
      if (first !== undefined) object[main] = object[first];
      for (const name of others) delete object[name];
    }
}

const idsIn = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

async function refuseUnlessPresent(
  request: FastifyRequest,
  { kind, present }: StatedOf,
  stated: readonly Stated[],
): Promise<void> {
  const presentAt = await present?.(request);
  const ifMatch = readIfMatch(request);
  const checked = new Set<Present>();
  for (const { path } of stated)
    for (const one of presentAt?.(path) ?? []) {
      if (one.version === undefined || checked.has(one)) continue;
      checked.add(one);
      await requireVersion(ifMatch, one.version, () => ({ ...one.record }));
    }
  const refused = stated.filter(({ path, name, value }) => {
    if (isObject(request.params) && request.params[name] === value) return false;
    const records = presentAt?.(path) ?? [];
    return records.length === 0 || !records.every(({ record }) => holds(record, name, value));
  });
  if (refused.length === 0) return;
  const errors = refused.slice(0, MAX_NAMED).map(({ path, name, isForm }): FieldError => {
    const operation = operationsThatSet[kind][name];
    return {
      field: [...path, name].join('.'),
      code: 'not_allowed',
      message: isForm
        ? 'must be a list of ids, or what the record has'
        : `cannot be set by this operation; ${operation ? `use ${operation}` : 'no operation sets it'}`,
    };
  });
  throw new AppError('field_not_allowed', {
    detail: `${errors.map(({ field, message }) => `${field} ${message}`).join('. ')}. Nothing was changed.`,
    errors,
  });
}

/** Whether the record has this value. A list of ids holds by ids, by records and by names, in any order. */
function holds(record: object, name: AccessField, value: unknown): boolean {
  const shown: Readonly<Record<string, unknown>> = { ...record };
  const shownName = (otherNamesOf(name) ?? [name]).find((one) => one in shown);
  if (shownName === undefined) return false;
  const now = shown[shownName];
  return Array.isArray(now) && Array.isArray(value) ? haveSameMembers(now, value) : now === value;
}

function haveSameMembers(shown: readonly unknown[], given: readonly unknown[]): boolean {
  const keys = new Map<string, number>();
  for (const [index, one] of shown.entries()) for (const key of keysOf(one)) keys.set(key, index);
  const found = given.map((one) => keys.get(keysOf(one)[0] ?? ''));
  return !found.includes(undefined) && new Set(found).size === shown.length;
}

/** Returns the id and the name of a member: for a text, what it is. */
const keysOf = (member: unknown): string[] =>
  (isObject(member) ? [member.id, member.name] : [member]).flatMap((key) =>
    typeof key === 'string' ? [key.toLowerCase()] : [],
  );

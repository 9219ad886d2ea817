// Validates requests against their schemas and describes what is wrong.
// It must not change a body: only query and path are converted, because they arrive as text.
import type { FieldError } from '@castellan/contract/envelope';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { AppError } from '../../errors.ts';
import { INT64, UUID } from '../../ids.ts';
import { isObject } from '../../unknown-values.ts';
import { publicBody } from './body-limits.ts';
import { MAX_DEPTH, tooDeep, tooManyValues } from './json-size.ts';

const shared = {
  allErrors: true,
  strict: false,
  useDefaults: true,
  removeAdditional: false,
  // A test does it for all schemas; here it would compile the schema of schemas for each of the three.
  meta: false,
  validateSchema: false,
  formats: { uuid: UUID, int64: INT64, 'date-time': true },
} as const;
// JSON may contain 1e400, which parses as Infinity; strictNumbers refuses it. It is not set for query and path, where
// it would skip the check of a maximum.
const compilers = {
  bodies: new Ajv({ ...shared, coerceTypes: false, strictNumbers: true }),
  largeBodies: new Ajv({ ...shared, allErrors: false, coerceTypes: false, strictNumbers: true }),
  addresses: new Ajv({ ...shared, coerceTypes: 'array' }),
};
type Kind = keyof typeof compilers;

/** Converts ids to lower case, in place: services and the audit log compare and store them. */
function lowerCaseIds(params: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(params))
    if (typeof value === 'string' && UUID.test(value)) params[name] = value.toLowerCase();
}

export class ShapeError extends Error {
  readonly problems: readonly ErrorObject[];
  readonly part: string;
  readonly value: unknown;
  constructor(problems: readonly ErrorObject[], part: string, value: unknown) {
    super('shape');
    this.problems = problems;
    this.part = part;
    this.value = value;
  }
}

const compiled: Record<Kind, Map<string, ValidateFunction>> = {
  bodies: new Map(),
  largeBodies: new Map(),
  addresses: new Map(),
};

/** Returns the validator of a schema; schemas that are equal in JSON share one. Throws when it cannot be compiled. */
function validatorOf(schema: object, kind: Kind): ValidateFunction {
  const key = JSON.stringify(schema);
  const known = compiled[kind].get(key);
  if (known) return known;
  const validate = compilers[kind].compile(schema);
  compiled[kind].set(key, validate);
  return validate;
}

/** Compiles at the first use. Compiling all schemas takes longer than the rest of a start. */
function atFirstUse(schema: object, kind: Kind): () => ValidateFunction {
  let validate: ValidateFunction | undefined;
  return () => (validate ??= validatorOf(schema, kind));
}

/** Returns the validator of one part of a request, for Fastify. It fails with a ShapeError. */
export const compileSchema: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  const thorough = atFirstUse(schema, httpPart === 'body' ? 'bodies' : 'addresses');
  const brief = atFirstUse(schema, 'largeBodies');
  const isPath = httpPart === 'params';
  const integers = httpPart === 'querystring' ? integersOf(schema) : [];
  return (value: unknown) => {
    if (isPath && isObject(value)) lowerCaseIds(value);
    const validate = httpPart === 'body' && isLarge(value) ? brief() : thorough();
    const misspelt = isObject(value) ? misspeltIntegers(integers, value) : [];
    const problems = validate(value) ? [] : (validate.errors ?? []);
    const all = [...misspelt, ...problems.filter((one) => !misspelt.some((two) => isAtSamePath(one, two)))];
    return all.length === 0 ? { value } : { error: new ShapeError(all, httpPart ?? 'body', value) };
  };
};

const integersOf = ({ properties = {} }: { properties?: Record<string, { type?: unknown }> }): string[] =>
  Object.keys(properties).filter((name) => properties[name]?.type === 'integer');

/** Returns a problem for each integer that is not decimal. Ajv would also convert `0x10`, `1e1`, `+5` and ` 5`. */
const misspeltIntegers = (names: readonly string[], query: Record<string, unknown>): ErrorObject[] =>
  names
    .filter((name) => typeof query[name] === 'string' && !/^-?\d+$/.test(query[name]))
    .map((name) => ({
      keyword: 'type',
      instancePath: `/${name}`,
      schemaPath: `#/properties/${name}/type`,
      params: { type: 'integer' },
    }));

const isAtSamePath = (one: ErrorObject, two: ErrorObject): boolean => one.instancePath === two.instancePath;

const prefixes: Record<string, string> = { querystring: 'query', params: 'path', headers: 'header' };

function fieldOf(problem: ErrorObject, part: string): string {
  const path = problem.instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (problem.keyword === 'required') path.push(String(problem.params.missingProperty));
  if (problem.keyword === 'additionalProperties') path.push(String(problem.params.additionalProperty));
  if (prefixes[part]) path.unshift(prefixes[part]);
  return path.length === 0 ? 'body' : path.join('.');
}

/** The formats of ids, as texts name them. */
const formatNames: Record<string, string> = { uuid: 'UUID', int64: 'positive number' };

function sentence(problem: ErrorObject): { code: string; message: string } {
  const { params } = problem;
  switch (problem.keyword) {
    case 'required':
      return { code: 'required', message: 'is required' };
    case 'additionalProperties':
      return { code: 'unknown_name', message: 'is not known here; check its spelling' };
    case 'type':
      return { code: 'wrong_type', message: `must be ${[params.type].flat().join(' or ')}` };
    case 'minLength':
      return {
        code: 'too_short',
        message: params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} characters`,
      };
    case 'maxLength':
      return { code: 'too_long', message: `must have at most ${params.limit} characters` };
    case 'minItems':
      return { code: 'too_few', message: `must have at least ${params.limit} items` };
    case 'maxItems':
      return { code: 'too_many', message: `must have at most ${params.limit} items` };
    case 'minimum':
    case 'maximum':
      return { code: 'out_of_range', message: `must be ${params.comparison} ${params.limit}` };
    case 'enum':
      return { code: 'unknown_value', message: `must be one of ${params.allowedValues.join(', ')}` };
    case 'const':
      return { code: 'unknown_value', message: `must be ${JSON.stringify(params.allowedValue)}` };
    case 'format':
      return {
        code: `invalid_${params.format}`.replaceAll('-', '_'),
        message: `must be a ${formatNames[params.format] ?? params.format}`,
      };
    default:
      return { code: 'invalid', message: problem.message ?? 'is not allowed' };
  }
}

// A longer list does not help the reader and could make the response as large as the request.
const MAX_FIELD_ERRORS = 20;

/**
 * Returns the refusal. `invalidInput`: the route's code for a wrong field. A malformed id is always `invalid_id`
 * (400).
 */
export function shapeRefusal(
  error: ShapeError,
  invalidInput: 'invalid_input' | 'validation_failed',
): AppError {
  // A union reports each branch. Its own summary, and that null would be allowed too, add nothing.
  const telling = error.problems.filter(
    (problem) => problem.keyword !== 'anyOf' && problem.keyword !== 'oneOf' && problem.params.type !== 'null',
  );
  // If one branch of a union matched the type of the body, the caller did not mean the branches that did not.
  const further = telling.filter((problem) => problem.keyword !== 'type' || problem.instancePath !== '');
  const problems =
    [further, telling, error.problems].find((some) => some.length > 0)?.slice(0, MAX_FIELD_ERRORS) ?? [];
  const errors: FieldError[] = problems.map((problem) => ({
    field: fieldOf(problem, error.part),
    ...sentence(problem),
  }));
  // No body, or the JSON `null`, although an object is required.
  if (
    problems.some(
      (problem) => problem.keyword === 'type' && problem.instancePath === '' && error.value === null,
    )
  )
    return new AppError('malformed_json', { detail: 'The request body is missing. Send a JSON object.' });
  const onlyIds =
    problems.length > 0 &&
    problems.every((problem) => problem.keyword === 'format' && problem.params.format in formatNames);
  const detail = `${errors.map((one) => `${one.field} ${one.message}`).join('; ')}.`;
  return new AppError(onlyIds ? 'invalid_id' : invalidInput, { detail, errors });
}

/**
 * Checks values inside a body that its schema leaves open. `refusalOf` returns `invalid_input` for a refused value. `at`: where the
 * value is, as a JSON Pointer.
 */
export function createCheck<T extends TSchema>(schema: T) {
  const validator = atFirstUse(schema, 'largeBodies');
  return {
    accepts: (value: unknown): value is Static<T> => validator()(value),
    refusalOf(value: unknown, at = ''): AppError {
      const validate = validator();
      validate(value);
      const problems = (validate.errors ?? []).map((one) => ({
        ...one,
        instancePath: at + one.instancePath,
      }));
      return shapeRefusal(new ShapeError(problems, 'body', value), 'invalid_input');
    },
  };
}

// Above this number of values, only the first problem is reported: collecting all costs more than parsing the body.
const FEW_VALUES = 200;

const large = new WeakSet<object>();
const isLarge = (value: unknown): boolean => isObject(value) && large.has(value);

/**
 * Throws for NUL and lone surrogates in any key or value, for nesting beyond MAX_DEPTH, and for more than `maxValues`
 * array items and object members. Stops at the first fault, and allocates nothing per value.
 */
export function refuseHostileText(body: unknown, maxValues = publicBody.values): void {
  let values = 0;
  // Recursion is safe: MAX_DEPTH bounds it.
  const walk = (value: unknown, depth: number): void => {
    if (typeof value === 'string') refuseText(value);
    if (!isObject(value)) return;
    if (depth >= MAX_DEPTH) throw tooDeep();
    if (Array.isArray(value)) {
      for (const item of value) {
        count();
        walk(item, depth + 1);
      }
      return;
    }
    // Parsed JSON has no inherited members that are enumerable.
    for (const key in value) {
      count();
      refuseText(key);
      walk(value[key], depth + 1);
    }
  };
  const count = (): void => {
    values += 1;
    if (values > maxValues) throw tooManyValues(maxValues);
  };
  walk(body, 0);
  if (values > FEW_VALUES && isObject(body)) large.add(body);
}

function refuseText(value: string): void {
  if (value.includes('\0') || !value.isWellFormed()) throw new AppError('invalid_text');
}

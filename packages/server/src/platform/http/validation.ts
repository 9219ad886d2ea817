// Checks requests against their schemas and words the refusals.
// It must not change a body: only addresses (query, path) are converted, because they arrive as text.
import type { FieldError } from '@castellan/contract/envelope';
import { Ajv, type ErrorObject } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { AppError } from '../errors.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const shared = {
  allErrors: true,
  strict: false,
  useDefaults: true,
  removeAdditional: false,
  formats: { uuid: UUID, 'date-time': true },
} as const;
// JSON can say 1e400, which reads as Infinity. Not so for addresses: there it would skip the check of a maximum.
const bodies = new Ajv({ ...shared, coerceTypes: false, strictNumbers: true });
const addresses = new Ajv({ ...shared, coerceTypes: 'array' });

/** One spelling of an id from here on: services and the audit log compare and store it. */
function lowerCaseIds(params: Record<string, string>): void {
  for (const [name, value] of Object.entries(params))
    if (UUID.test(value)) params[name] = value.toLowerCase();
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

export const compileSchema: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  const validate = (httpPart === 'body' ? bodies : addresses).compile(schema as object);
  const isPath = httpPart === 'params';
  return (value: unknown) => {
    if (isPath) lowerCaseIds(value as Record<string, string>);
    return validate(value)
      ? { value }
      : { error: new ShapeError(validate.errors ?? [], httpPart ?? 'body', value) };
  };
};

const prefixes: Record<string, string> = { querystring: 'query', params: 'path', headers: 'header' };

function fieldOf(problem: ErrorObject, part: string): string {
  const path = problem.instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (problem.keyword === 'required') path.push(String(problem.params.missingProperty));
  if (prefixes[part]) path.unshift(prefixes[part]);
  return path.length === 0 ? 'body' : path.join('.');
}

function sentence(problem: ErrorObject): { code: string; message: string } {
  const { params } = problem;
  switch (problem.keyword) {
    case 'required':
      return { code: 'required', message: 'is required' };
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
        message: `must be a ${params.format === 'uuid' ? 'UUID' : params.format}`,
      };
    default:
      return { code: 'invalid', message: problem.message ?? 'is not allowed' };
  }
}

// More would help nobody and make the answer as large as the request.
const MAX_FIELD_ERRORS = 20;

/** `invalidInput` is what a missing field or a wrong value costs on this route; an id that is no UUID is 400 everywhere. */
export function shapeRefusal(
  error: ShapeError,
  invalidInput: 'invalid_input' | 'validation_failed',
): AppError {
  // A union reports each branch; its summary line, and that the body could have been missing, say nothing more.
  const telling = error.problems.filter(
    (problem) => problem.keyword !== 'anyOf' && problem.keyword !== 'oneOf' && problem.params.type !== 'null',
  );
  // The branch of a union that wanted another type altogether was not meant, when another branch got further.
  const further = telling.filter((problem) => problem.keyword !== 'type' || problem.instancePath !== '');
  const problems =
    [further, telling, error.problems].find((some) => some.length > 0)?.slice(0, MAX_FIELD_ERRORS) ?? [];
  const errors: FieldError[] = problems.map((problem) => ({
    field: fieldOf(problem, error.part),
    ...sentence(problem),
  }));
  // No body at all, or the JSON `null`, where an object is needed.
  if (
    problems.some(
      (problem) => problem.keyword === 'type' && problem.instancePath === '' && error.value === null,
    )
  )
    return new AppError('malformed_json', { detail: 'The request body is missing. Send a JSON object.' });
  const onlyIds =
    problems.length > 0 &&
    problems.every((problem) => problem.keyword === 'format' && problem.params.format === 'uuid');
  const detail = `${errors.map((one) => `${one.field} ${one.message}`).join('; ')}.`;
  return new AppError(onlyIds ? 'invalid_id' : invalidInput, { detail, errors });
}

// Deep enough for any body of ours; deeper input is an attack on whoever walks it.
const MAX_DEPTH = 32;

/** Refuses NUL and lone surrogates in any key or value, and nesting beyond any body of ours. Iterative: depth cannot overflow the stack. */
export function refuseHostileText(body: unknown): void {
  const pending: { value: unknown; depth: number }[] = [{ value: body, depth: 0 }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value, depth } = next;
    if (typeof value === 'string') refuseText(value);
    else if (value !== null && typeof value === 'object') {
      if (depth >= MAX_DEPTH)
        throw new AppError('malformed_json', {
          detail: `The body is nested deeper than ${MAX_DEPTH} levels.`,
        });
      for (const [key, child] of Object.entries(value)) {
        refuseText(key);
        pending.push({ value: child, depth: depth + 1 });
      }
    }
  }
}

function refuseText(value: string): void {
  if (value.includes('\0') || !value.isWellFormed()) throw new AppError('invalid_text');
}

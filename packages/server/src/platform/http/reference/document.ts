// Puts the document together: paths and parameters from @fastify/swagger, everything else from the routes' declarations.
// Deterministic: the same routes and settings give the same bytes.
import { ErrorBody } from '@castellan/contract/envelope';
import { defaultDetailOf, type ErrorCode, errorCatalogue, statusOf } from '@castellan/contract/errors';
import { fieldExamples } from '@castellan/contract/examples';
import { headerComponents, securitySchemes } from './headers.ts';
import type { JsonSchema, OpenApiDocument, Operation } from './openapi.ts';
import { describeOperation } from './operation.ts';
import type { RouteFacts } from './route-facts.ts';
import { createComponents } from './schemas.ts';
import { shareAnswers } from './shared-answers.ts';

/** Where the swagger plugin carries a route's facts through to us. */
export const FACTS = 'x-route-facts';

type Draft = Omit<OpenApiDocument, 'paths'> & {
  paths: Record<string, Record<string, { parameters?: Operation['parameters']; [FACTS]?: RouteFacts }>>;
};

/** Throws when two operations would bear one name, or two schemas one title. */
export function completeDocument(
  draft: Draft,
  tagDescriptions: Readonly<Record<string, string>>,
): OpenApiDocument {
  const components = createComponents();
  const errorSchema = components.write(ErrorBody as unknown as JsonSchema);
  const problemSchema = components.write(Problem);
  const facts = Object.values(draft.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap((one) => one[FACTS] ?? []);
  const versioned = new Set(facts.filter((one) => one.conditional).map((one) => one.url));
  const context = { components, errorSchema, problemSchema, versioned };
  const paths: OpenApiDocument['paths'] = {};
  const names = new Map<string, string>();
  for (const [path, methods] of Object.entries(draft.paths)) {
    for (const [method, { parameters = [], [FACTS]: route }] of Object.entries(methods)) {
      if (!route) throw new Error(`${method} ${path} came without its facts`);
      const operation = describeOperation(route, parameters, context);
      const other = names.get(operation.operationId);
      if (other)
        throw new Error(
          `${method} ${path} and ${other} are both named "${operation.operationId}": set schema.operationId`,
        );
      names.set(operation.operationId, `${method} ${path}`);
      paths[path] = { ...paths[path], [method]: operation };
    }
  }
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const responses = shareAnswers(operations);
  const used = [...new Set(operations.flatMap((one) => one.tags))];
  return {
    openapi: draft.openapi,
    info: draft.info,
    servers: draft.servers,
    tags: used.map((name) => ({
      name,
      ...(tagDescriptions[name] ? { description: tagDescriptions[name] } : {}),
    })),
    paths,
    components: {
      responses,
      schemas: Object.fromEntries([...components.schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: securitySchemes(facts),
      headers: headerComponents,
      examples: errorExamples(),
    },
  };
}

/** RFC 9457, for clients that send `Accept: application/problem+json`. */
const Problem: JsonSchema = {
  title: 'Problem',
  description: 'RFC 9457. Sent instead of Error when `Accept` names application/problem+json.',
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    ...ErrorBody.properties,
    type: { type: 'string', format: 'uri', description: 'Explains the code.' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    password_errors: { type: 'array', items: { type: 'string' }, description: 'Every broken rule.' },
  },
};

const withFields: Partial<Record<ErrorCode, { field: string; code: string; message: string }>> = {
  validation_failed: { field: 'email', code: 'required', message: 'is required' },
  invalid_input: { field: 'email', code: 'required', message: 'is required' },
  invalid_id: { field: 'path.id', code: 'invalid_uuid', message: 'must be a UUID' },
};

function errorExamples(): Record<string, unknown> {
  const example = (code: ErrorCode) => {
    const field = withFields[code];
    const sentence = field ? `${field.field} ${field.message}.` : defaultDetailOf(code);
    return {
      summary: `${statusOf(code)}`,
      value: {
        detail:
          code === 'password_rejected'
            ? { message: sentence, errors: ['Use at least 12 characters.', 'Add a digit.'] }
            : sentence,
        code,
        request_id: fieldExamples.request_id,
        ...(field ? { errors: [field] } : {}),
      },
    };
  };
  return Object.fromEntries(
    (Object.keys(errorCatalogue) as ErrorCode[]).map((code) => [code, example(code)]),
  );
}

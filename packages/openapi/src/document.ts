// Builds the document: paths and parameters come from the draft, everything else from the facts of the routes.
// It is deterministic: the same routes and conventions give the same bytes.
import type { Conventions } from './conventions.ts';
import { headerComponents, securitySchemes } from './headers.ts';
import { describeOperation } from './operation.ts';
import type { RouteFacts } from './route-facts.ts';
import { createComponents } from './schemas.ts';
import { shareAnswers } from './shared-answers.ts';
import type { OpenApiDocument, Operation } from './types.ts';

/** The member of a draft's operation that has the facts of its route. */
export const FACTS = 'x-route-facts';

/** Paths with their parameters, as @fastify/swagger or your own program collects them, and the facts of each route. */
export type Draft = Pick<OpenApiDocument, 'openapi' | 'info' | 'servers'> & {
  paths: Record<string, Record<string, { parameters?: Operation['parameters']; [FACTS]?: RouteFacts }>>;
};

/** Whether a document can be a draft. Its operations are not checked. */
export const isDraft = (document: object): document is Draft =>
  'openapi' in document && 'info' in document && 'paths' in document;

/**
 * Returns the document. Throws when two operations have the same id or two different schemas the same title, and when a
 * route names an error code that the conventions lack.
 */
export function completeDocument(draft: Draft, conventions: Conventions): OpenApiDocument {
  const components = createComponents();
  const errorSchema = components.write(conventions.failure);
  const problemSchema = components.write(conventions.problem);
  const facts = Object.values(draft.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap((one) => one[FACTS] ?? []);
  const versioned = new Set(facts.filter((one) => one.conditional).map((one) => one.url));
  const context = { components, conventions, errorSchema, problemSchema, versioned };
  const paths: OpenApiDocument['paths'] = {};
  const names = new Map<string, string>();
  for (const [path, methods] of Object.entries(draft.paths)) {
    for (const [method, { parameters = [], [FACTS]: route }] of Object.entries(methods)) {
      if (!route) throw new Error(`${method} ${path} came without its facts`);
      const operation = describeOperation(route, parameters, context);
      const other = names.get(operation.operationId);
      if (other)
        throw new Error(
          `${method} ${path} and ${other} are both named "${operation.operationId}": set an operationId`,
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
      ...(conventions.tags[name] ? { description: conventions.tags[name] } : {}),
    })),
    paths,
    components: {
      responses,
      schemas: Object.fromEntries([...components.schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: securitySchemes(facts, conventions),
      headers: headerComponents,
      examples: failureExamples(conventions),
    },
  };
}

const failureExamples = (conventions: Conventions): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(conventions.errors).map(([code, [status]]) => [
      code,
      { summary: `${status}`, value: conventions.failureExample(code) },
    ]),
  );

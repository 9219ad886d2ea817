// The query parameter `dry_run`: an operation that has a preview declares it in its schema and answers it.
// It must not know an operation.
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import { isObject } from '../../unknown-values.ts';
import { hook } from '../hooks.ts';
import type { App } from '../server/server.ts';

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

const NAME = 'dry_run';

const hasPreview = ({ routeOptions: { schema } }: FastifyRequest): boolean =>
  isObject(schema?.querystring) &&
  isObject(schema.querystring.properties) &&
  NAME in schema.querystring.properties;

/** Returns whether a validated request asks for a preview. */
export const isDryRun = ({ query }: FastifyRequest): boolean => isObject(query) && query.dry_run === true;

/** Returns the query parameter `subjects` of a validated request for a preview; null without one. */
export const namedSubjectsIn = (request: FastifyRequest): number | null =>
  isDryRun(request) && isObject(request.query) && typeof request.query.subjects === 'number'
    ? request.query.subjects
    : null;

/** Whether the name is `dry_run` but for case and what is no letter, as other APIs spell it: `dry-run`, `dry_run[]`. */
const meansDryRun = (name: string): boolean => /^dryrun$/i.test(name.replaceAll(/\P{L}/gu, ''));

/**
 * Returns the path of the first name in the value that means `dry_run`. The depth of a value is limited before. The members of a map are
 * named by the sender, and so is all that is in them.
 */
function dryRunIn(value: unknown, schema: unknown): string | undefined {
  if (!isObject(value) || (isObject(schema) && 'patternProperties' in schema)) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    if (!Array.isArray(value) && meansDryRun(name)) return name;
    const found = dryRunIn(inner, schemaOf(schema, Array.isArray(value) ? null : name));
    if (found !== undefined) return `${name}.${found}`;
  }
  return undefined;
}

/** Returns the schema of a member, or with null that of the items; undefined if it is not declared. */
function schemaOf(schema: unknown, name: string | null): unknown {
  if (!isObject(schema)) return undefined;
  if (name === null) return schema.items;
  return isObject(schema.properties) && Object.hasOwn(schema.properties, name)
    ? schema.properties[name]
    : undefined;
}

/**
 * Refuses `dry_run` at every write that would not see it: at an operation without a preview, in another spelling, in the body.
 * Other unknown names are ignored, but a client that sends this one relies on it: nothing may change.
 */
export function refuseUnknownDryRun(app: App): void {
  app.addHook(
    'preValidation',
    hook((request) => {
      const { method, query, body, is404, routeOptions } = request;
      if (is404 || safeMethods.has(method) || routeOptions.config.readOnly) return;
      const isOffered = hasPreview(request);
      const parameter = Object.keys(query ?? {}).find(
        (name) => meansDryRun(name) && !(isOffered && name === NAME),
      );
      const member = parameter === undefined ? dryRunIn(body, routeOptions.schema?.body) : undefined;
      const field = parameter === undefined ? member : `query.${parameter}`;
      if (field === undefined) return;
      const message = isOffered
        ? `is not supported; write ${NAME} in the query`
        : 'is not supported by this operation, which has no preview';
      throw new AppError(routeOptions.config.invalidInput ?? 'validation_failed', {
        detail: `${field} ${message}. Nothing was changed.`,
        errors: [{ field, code: 'not_supported', message }],
      });
    }),
  );
}

// The query parameter `dry_run`: an operation that has a preview declares it in its schema and answers it.
// It must not know an operation.
import type { FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import { isObject } from '../unknown-values.ts';
import { hook } from './hooks.ts';
import type { App } from './server.ts';

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

const hasPreview = ({ routeOptions: { schema } }: FastifyRequest): boolean =>
  isObject(schema?.querystring) &&
  isObject(schema.querystring.properties) &&
  'dry_run' in schema.querystring.properties;

/** Returns whether a validated request asks for a preview. */
export const isDryRun = ({ query }: FastifyRequest): boolean => isObject(query) && query.dry_run === true;

/** Returns the query parameter `subjects` of a validated request for a preview; null without one. */
export const namedSubjectsIn = (request: FastifyRequest): number | null =>
  isDryRun(request) && isObject(request.query) && typeof request.query.subjects === 'number'
    ? request.query.subjects
    : null;

/**
 * Refuses `dry_run` at every operation without a preview. Other unknown parameters are ignored, but whoever sends this one
 * relies on it that nothing changes.
 */
export function refuseUnknownDryRun(app: App): void {
  app.addHook(
    'preValidation',
    hook((request) => {
      const { method, query, is404, routeOptions } = request;
      if (is404 || safeMethods.has(method) || routeOptions.config.readOnly) return;
      if (!isObject(query) || !('dry_run' in query) || hasPreview(request)) return;
      const message = 'is not supported by this operation, which has no preview';
      throw new AppError(routeOptions.config.invalidInput ?? 'validation_failed', {
        detail: `query.dry_run ${message}. Nothing was changed.`,
        errors: [{ field: 'query.dry_run', code: 'not_supported', message }],
      });
    }),
  );
}

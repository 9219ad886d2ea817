// What the reference reads off a registered route. It must not add anything that the route does not declare.
import type { ErrorCode } from '@castellan/contract/errors';
import type { Access } from '@castellan/contract/permissions';
import type { FastifySchema, RouteOptions } from 'fastify';
import '../idempotency.ts';
import type { RateLimitRule } from '../../limits/rate-limit.ts';
import type { JsonSchema } from './openapi.ts';

export type RouteFacts = {
  /** Upper case. */
  method: string;
  /** As registered: `/api/v1/users/:user_id`. */
  url: string;
  summary: string;
  description: string | undefined;
  tags: readonly string[] | undefined;
  operationId: string | undefined;
  access: Access;
  errors: readonly ErrorCode[];
  limit: RateLimitRule | null;
  invalidInput: 'invalid_input' | 'validation_failed';
  /** A CSRF token is needed. */
  csrf: boolean;
  /** Honours Idempotency-Key. */
  idempotent: boolean;
  /** Refuses (412) when If-Match names another version. */
  conditional: boolean;
  cookies: { reads: readonly string[]; sets: readonly string[] };
  body: JsonSchema | undefined;
  params: JsonSchema | undefined;
  query: JsonSchema | undefined;
  answers: Readonly<Record<string, JsonSchema>>;
};

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

export function factsOf(route: RouteOptions, schema: FastifySchema): RouteFacts {
  const config = route.config ?? {};
  const method = String([route.method].flat()[0]);
  return {
    method,
    url: route.url,
    summary: schema.summary ?? '',
    description: schema.description,
    tags: schema.tags,
    operationId: schema.operationId,
    access: config.access ?? 'authenticated',
    errors: config.errors ?? [],
    limit: config.limit?.rule ?? null,
    invalidInput: config.invalidInput ?? 'validation_failed',
    csrf: !SAFE_METHODS.includes(method) && config.csrf !== false,
    idempotent: config.idempotent ?? false,
    conditional: config.errors?.includes('precondition_failed') ?? false,
    cookies: { reads: config.cookies?.reads ?? [], sets: config.cookies?.sets ?? [] },
    body: schema.body as JsonSchema | undefined,
    params: schema.params as JsonSchema | undefined,
    query: schema.querystring as JsonSchema | undefined,
    answers: (schema.response ?? {}) as Record<string, JsonSchema>,
  };
}

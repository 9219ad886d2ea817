// Which error codes an operation can answer: those it declares and those that its access, method and shape imply.
// It must not name a code that only a refused connection or an unknown address earns.
import { type ErrorCode, errorCatalogue, statusOf } from '@castellan/contract/errors';
import type { JsonSchema } from './openapi.ts';
import type { RouteFacts } from './route-facts.ts';

const catalogueOrder = Object.keys(errorCatalogue) as ErrorCode[];

/** Unique, in the order of the catalogue. */
export function errorCodesOf(route: RouteFacts): ErrorCode[] {
  const codes = new Set<ErrorCode>([...route.errors, 'internal_error', 'invalid_text']);
  const add = (condition: boolean, ...more: ErrorCode[]) => {
    if (condition) for (const code of more) codes.add(code);
  };
  const guarded = route.access !== 'public';
  add(route.csrf, 'csrf_invalid');
  add(guarded, 'token_missing', 'token_invalid', 'token_expired', 'token_revoked');
  add(guarded && route.access !== 'authenticated', 'permission_denied');
  add(route.limit !== null, 'rate_limited');
  add(route.body !== undefined, 'malformed_json', 'unsupported_media_type', 'body_too_large');
  add(route.body !== undefined || hasProperties(route.query), route.invalidInput);
  add(route.idempotent, 'malformed_request', 'idempotency_key_reused', 'idempotency_in_progress');
  add([route.body, route.params, route.query].some(hasUuid), 'invalid_id');
  // Everything below /api is answered from the database; probes and public keys are not.
  add(route.url.startsWith('/api/'), 'database_unavailable');
  return catalogueOrder.filter((code) => codes.has(code));
}

/** By status, ascending. */
export function byStatus(codes: readonly ErrorCode[]): [status: number, codes: ErrorCode[]][] {
  const groups = Map.groupBy(codes, statusOf);
  return [...groups].sort(([a], [b]) => a - b);
}

const hasProperties = (schema: JsonSchema | undefined): boolean =>
  Object.keys((schema?.properties as object | undefined) ?? {}).length > 0;

function hasUuid(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  return (schema as JsonSchema).format === 'uuid' || Object.values(schema).some(hasUuid);
}

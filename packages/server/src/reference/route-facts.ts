// Collects what the reference says about a registered route. It must not add anything that the route does not declare.
import { type ErrorCode, errorCatalogue } from '@castellan/contract/errors';
import { type FailureShape, type JsonSchema, type RouteFacts, schemaOf } from '@castellan/openapi';
import type { FastifySchema, RouteOptions } from 'fastify';
import { AppError } from '../platform/errors.ts';
import { inUnits, publicBody } from '../platform/http/bodies/body-limits.ts';
import { MERGE_PATCH_TYPE } from '../platform/http/bodies/body-parsing.ts';
import { FORM_TYPE } from '../platform/http/bodies/form-type.ts';
import type { ErrorShape } from '../platform/http/error-shape.ts';
import { isForTheUserAlone } from '../platform/http/own-account.ts';
import { type Requirement, requirementCodes } from '../platform/http/requirements.ts';
import { isObject } from '../platform/unknown-values.ts';
import '../platform/http/plugins/idempotency.ts';

const safeMethods = ['GET', 'HEAD', 'OPTIONS'];

const optionalSchema = (value: unknown): JsonSchema | undefined =>
  value === undefined ? undefined : schemaOf(value);

const schemasByStatus = (response: unknown): Record<string, JsonSchema> =>
  Object.fromEntries(
    Object.entries(isObject(response) ? response : {}).map(([status, schema]) => [status, schemaOf(schema)]),
  );

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errorCatalogue, code);

/** Returns the code if the catalogue has it. The document is built from no other codes. */
function knownCode(code: string): ErrorCode {
  if (!isErrorCode(code)) throw new TypeError(`no error has the code "${code}"`);
  return code;
}

const failureOf = ({ schema, codeOf, bodyOf }: ErrorShape): FailureShape => ({
  schema: schemaOf(schema),
  codeOf: (code) => codeOf(knownCode(code)),
  example: (code) => bodyOf(knownCode(code), new AppError(knownCode(code))),
});

/** Returns the codes that refuse the operation to users who must do something else first. */
const refusalsWhile = (openTo: readonly Requirement[] = []): string[] =>
  Object.entries(requirementCodes).flatMap(([one, codes]) =>
    openTo.some((open) => open === one) ? [] : [...codes],
  );

/** Returns the facts of a route for the OpenAPI document. Throws TypeError when a schema is no object. */
export function factsOf(route: RouteOptions, schema: FastifySchema): RouteFacts {
  const config = route.config ?? {};
  const method = String([route.method].flat()[0]);
  const { url } = route;
  const { access = 'authenticated' } = config;
  const { bytes, values } = config.body ?? publicBody;
  return {
    method,
    url,
    summary: schema.summary ?? '',
    description: schema.description,
    tags: schema.tags,
    operationId: schema.operationId,
    access,
    orSelf: config.orSelf !== undefined,
    errors: [
      ...(config.errors ?? []),
      ...(config.fresh ? ['step_up_required'] : []),
      ...(config.statedOf ? ['field_not_allowed'] : []),
      ...(access === 'public' ? [] : refusalsWhile(config.openTo)),
      ...(isForTheUserAlone({ method, url, access }) ? ['acting_as'] : []),
    ],
    limit: config.limit?.rule ?? null,
    bodyLimits: { size: inUnits(bytes), values },
    invalidInput: config.invalidInput ?? 'validation_failed',
    otherMedia: config.otherMedia ?? 'unsupported_media_type',
    othersNeed: config.othersNeed ?? null,
    csrf: !safeMethods.includes(method) && config.csrf !== false,
    idempotent: config.idempotent ?? false,
    conditional: config.ifMatch !== false && (config.errors?.includes('precondition_failed') ?? false),
    basic: config.clientCredentials ?? false,
    failure: config.errorShape && failureOf(config.errorShape),
    answerHeaders: config.answerHeaders ?? {},
    cookies: { reads: config.cookies?.reads ?? [], sets: config.cookies?.sets ?? [] },
    body: optionalSchema(schema.body),
    bodyTypes: config.form
      ? [FORM_TYPE]
      : ['application/json', ...(method === 'PATCH' ? [MERGE_PATCH_TYPE] : [])],
    params: optionalSchema(schema.params),
    query: optionalSchema(schema.querystring),
    answers: schemasByStatus(schema.response),
  };
}

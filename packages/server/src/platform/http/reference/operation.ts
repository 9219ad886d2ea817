// One operation of the document, from what its route declares: answers, errors, proofs, examples, sentences.
// It must not state a rule that the hooks do not enforce.
import { STATUS_CODES } from 'node:http';
import { defaultDetailOf, type ErrorCode } from '@castellan/contract/errors';
import type { RateLimitRule } from '../../limits/rate-limit.ts';
import { byStatus, errorCodesOf } from './error-codes.ts';
import { headerParameters, headersOf, securityOf } from './headers.ts';
import type { Answer, JsonSchema, MediaType, Operation, Parameter } from './openapi.ts';
import { operationIdOf } from './operation-id.ts';
import type { RouteFacts } from './route-facts.ts';
import { createSampler } from './samples.ts';
import type { Components } from './schemas.ts';

export type OperationContext = {
  components: Components;
  errorSchema: JsonSchema;
  problemSchema: JsonSchema;
  /** Addresses whose records carry a version. */
  versioned: ReadonlySet<string>;
};

/** `given` parameters come from @fastify/swagger. */
export function describeOperation(
  route: RouteFacts,
  given: readonly Parameter[],
  context: OperationContext,
): Operation {
  const isPermission = route.access !== 'public' && route.access !== 'authenticated';
  const { components } = context;
  const parameters = [...given.map(optionalByDefault), ...headerParameters(route)];
  return {
    operationId: operationIdOf(route),
    summary: route.summary,
    description: [route.description, accessSentence(route), limitSentence(route.limit)]
      .filter(Boolean)
      .join('\n\n'),
    tags: route.tags ?? [tagOf(route.url)],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body ? { requestBody: requestBody(route.body, components) } : {}),
    responses: describeAnswers(route, context),
    security: securityOf(route),
    'x-access': route.access,
    ...(isPermission ? { 'x-permission': route.access } : {}),
    ...(route.limit
      ? { 'x-rate-limit': { limit: route.limit.limit, window_seconds: route.limit.windowSeconds } }
      : {}),
  };
}

/** The validator fills defaults in before it looks for what is missing. */
const optionalByDefault = (one: Parameter): Parameter =>
  'default' in one.schema ? { ...one, required: false } : one;

function media(schema: JsonSchema, components: Components): MediaType {
  const written = components.write(schema);
  return { schema: written, example: createSampler(components.schemas)(written) };
}

/** A route that answers something else than JSON names the type, as Fastify wants it. */
const contentOf = (schema: JsonSchema, components: Components): Record<string, MediaType> =>
  'content' in schema
    ? Object.fromEntries(
        Object.entries(schema.content as Record<string, { schema: JsonSchema }>).map(([type, one]) => [
          type,
          media(one.schema, components),
        ]),
      )
    : { 'application/json': media(schema, components) };

const requestBody = (schema: JsonSchema, components: Components) => ({
  required: !acceptsNull(schema),
  content: { 'application/json': media(schema, components) },
});

const acceptsNull = (schema: JsonSchema): boolean =>
  schema.type === 'null' || (Array.isArray(schema.anyOf) && schema.anyOf.some(acceptsNull));

function describeAnswers(route: RouteFacts, context: OperationContext): Record<string, Answer> {
  const answers: Record<string, Answer> = {};
  for (const [status, schema] of Object.entries(route.answers)) {
    answers[status] = {
      description: STATUS_CODES[status] ?? 'Answer',
      headers: headersOf(route, Number(status), [], context.versioned.has(route.url)),
      ...(schema.type === 'null' ? {} : { content: contentOf(schema, context.components) }),
    };
  }
  for (const [status, codes] of byStatus(errorCodesOf(route))) {
    // A probe answers some statuses in a shape of its own.
    answers[status] ??= errorAnswer(route, status, codes, context);
  }
  return answers;
}

function errorAnswer(
  route: RouteFacts,
  status: number,
  codes: readonly ErrorCode[],
  context: OperationContext,
): Answer {
  return {
    description: codes.map((code) => `\`${code}\`: ${defaultDetailOf(code)}`).join('\n\n'),
    headers: headersOf(route, status, codes, false),
    content: {
      'application/json': {
        schema: context.errorSchema,
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
      'application/problem+json': { schema: context.problemSchema },
    },
    'x-error-codes': codes,
  };
}

function accessSentence({ access }: RouteFacts): string {
  if (access === 'public') return 'Public: no sign-in needed.';
  if (access === 'authenticated') return 'Any signed-in user.';
  return `Needs the permission \`${access}\`.`;
}

const units: Record<number, string> = { 1: 'second', 60: 'minute', 3600: 'hour', 86400: 'day' };

function limitSentence(limit: RateLimitRule | null): string | undefined {
  if (!limit) return undefined;
  const window = units[limit.windowSeconds] ?? `${limit.windowSeconds} seconds`;
  return `At most ${limit.limit} requests per ${window} and client address.`;
}

/** The noun of the path: `/api/v1/role-groups/…` is "Role groups". */
export function tagOf(url: string): string {
  const noun =
    url
      .replace(/^\/api\/v\d+/, '')
      .split('/')
      .find(Boolean) ?? 'service';
  const words = noun.replaceAll(/[^A-Za-z0-9]+/g, ' ').trim();
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
}

// Describes one operation of the document: responses, errors, authentication, examples, sentences.
// It must not state a rule that is neither in the facts nor in the conventions.
import { STATUS_CODES } from 'node:http';
import type { Conventions } from './conventions.ts';
import { byStatus, errorCodesOf } from './error-codes.ts';
import { headerParameters, headersOf, securityOf } from './headers.ts';
import { operationIdOf } from './operation-id.ts';
import { type FailureShape, type RouteFacts, requiresPermission } from './route-facts.ts';
import { createSampler } from './samples.ts';
import type { Components } from './schemas.ts';
import type { Answer, JsonSchema, MediaType, Operation, Parameter } from './types.ts';

export type OperationContext = {
  conventions: Conventions;
  components: Components;
  errorSchema: JsonSchema;
  problemSchema: JsonSchema;
  /** URLs of routes whose records have a version. */
  versioned: ReadonlySet<string>;
};

/** Returns the operation. `given`: the parameters of path and query, from @fastify/swagger. */
export function describeOperation(
  route: RouteFacts,
  given: readonly Parameter[],
  context: OperationContext,
): Operation {
  const isPermission = requiresPermission(route);
  const { conventions } = context;
  const parameters = [...given.map(optionalByDefault), ...headerParameters(route)];
  return {
    operationId: operationIdOf(route),
    summary: route.summary,
    description: [
      route.description,
      accessSentence(route),
      csrfSentence(route, conventions),
      limitSentence(route.limit),
      bodySentence(route),
      cookieSentence(route, conventions),
      errorSentence(route, conventions),
    ]
      .filter(Boolean)
      .join('\n\n'),
    tags: route.tags ?? [tagOf(route.url)],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body ? { requestBody: requestBody(route.body, route.bodyTypes, context) } : {}),
    responses: describeAnswers(route, context),
    security: securityOf(route),
    'x-access': route.access,
    ...(isPermission ? { 'x-permission': route.access } : {}),
    ...(route.othersNeed ? { 'x-permission-for-others': route.othersNeed } : {}),
    ...(route.limit
      ? { 'x-rate-limit': { limit: route.limit.limit, window_seconds: route.limit.windowSeconds } }
      : {}),
  };
}

/** Marks a parameter with a default as optional: the validator fills in defaults before it checks what is missing. */
const optionalByDefault = (one: Parameter): Parameter =>
  'default' in one.schema ? { ...one, required: false } : one;

function media(schema: JsonSchema, { components, conventions }: OperationContext): MediaType {
  const written = components.write(schema);
  return { schema: written, example: createSampler(components.schemas, conventions.examples)(written) };
}

/** Returns the content by media type. A route that does not answer JSON declares its types, as Fastify requires. */
const contentOf = (schema: JsonSchema, context: OperationContext): Record<string, MediaType> =>
  schema.content
    ? Object.fromEntries(
        Object.entries(schema.content).map(([type, one]) => [type, media(one.schema, context)]),
      )
    : { 'application/json': media(schema, context) };

const requestBody = (schema: JsonSchema, types: readonly string[], context: OperationContext) => ({
  required: !acceptsNull(schema),
  content: Object.fromEntries(types.map((type) => [type, media(schema, context)])),
});

const acceptsNull = (schema: JsonSchema): boolean =>
  schema.type === 'null' || (Array.isArray(schema.anyOf) && schema.anyOf.some(acceptsNull));

function describeAnswers(route: RouteFacts, context: OperationContext): Record<string, Answer> {
  const { conventions } = context;
  const answers: Record<string, Answer> = {};
  for (const [status, schema] of Object.entries(route.answers)) {
    const isVersioned = context.versioned.has(route.url);
    answers[status] = {
      description: STATUS_CODES[status] ?? 'Answer',
      headers: headersOf(route, { status: Number(status), isVersioned }, conventions),
      ...(schema.type === 'null' ? {} : { content: contentOf(schema, context) }),
    };
  }
  for (const [status, codes] of byStatus(errorCodesOf(route, conventions), conventions)) {
    // A probe declares its own body for some error statuses; a page stands beside the errors of its status.
    const own = answers[status]?.content;
    if (answers[status] && (!own || 'application/json' in own)) continue;
    const failure = errorAnswer(route, status, codes, context);
    answers[status] = { ...failure, content: { ...own, ...failure.content } };
  }
  return answers;
}

function errorAnswer(
  route: RouteFacts,
  status: number,
  codes: readonly string[],
  context: OperationContext,
): Answer {
  const { errors } = context.conventions;
  return {
    description: codes.map((code) => `\`${code}\`: ${errors[code]?.[1]}`).join('\n\n'),
    headers: headersOf(route, { status, codes }, context.conventions),
    content: route.failure
      ? contentIn(route.failure, codes, context)
      : {
          'application/json': {
            schema: context.errorSchema,
            examples: Object.fromEntries(
              codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
            ),
          },
          'application/problem+json': { schema: context.problemSchema },
        },
    'x-error-codes': codes,
  };
}

const contentIn = (
  { schema, example }: FailureShape,
  codes: readonly string[],
  { components }: OperationContext,
): Record<string, MediaType> => ({
  'application/json': {
    schema: components.write(schema),
    examples: Object.fromEntries(codes.map((code) => [code, { value: example(code) }])),
  },
});

function accessSentence({ access, orSelf, othersNeed }: RouteFacts): string {
  if (othersNeed)
    return `Any signed-in user or service account about itself. About others: requires the permission \`${othersNeed}\`.`;
  if (access === 'public') return 'Public: no sign-in required.';
  if (access === 'authenticated') return 'Any signed-in user or service account.';
  if (access === 'user') return 'Any signed-in user.';
  return `Requires the permission \`${access}\`${orSelf ? ', unless you ask about yourself' : ''}.`;
}

const units: Record<number, string> = { 1: 'second', 60: 'minute', 3600: 'hour', 86400: 'day' };

function limitSentence(limit: RouteFacts['limit']): string | undefined {
  if (!limit) return undefined;
  const window = units[limit.windowSeconds] ?? `${limit.windowSeconds} seconds`;
  return `At most ${limit.limit} requests per ${window} and client address.`;
}

const csrfSentence = (route: RouteFacts, { csrf, cookiePrefix }: Conventions): string | undefined =>
  route.csrf
    ? `Send \`${csrf.header}\` and the cookie \`${cookiePrefix}${csrf.cookie}\` that was set with it.`
    : undefined;

function cookieSentence(
  { cookies: { reads, sets } }: RouteFacts,
  { cookiePrefix }: Conventions,
): string | undefined {
  const list = (names: readonly string[]) => names.map((name) => `\`${cookiePrefix}${name}\``).join(', ');
  const sentences = [
    ...(reads.length > 0 ? [`Reads the cookie ${list(reads)}.`] : []),
    ...(sets.length > 0 ? [`Sets or clears the cookie ${list(sets)}.`] : []),
  ];
  return sentences.length > 0 ? sentences.join(' ') : undefined;
}

/** Lists the codes in the description: every viewer shows it, while few show `x-error-codes`. */
function errorSentence(route: RouteFacts, conventions: Conventions): string {
  const lines = byStatus(errorCodesOf(route, conventions), conventions).map(
    ([status, codes]) => `- ${status}: ${codes.map((code) => `\`${code}\``).join(', ')}`,
  );
  return `Error codes:\n\n${lines.join('\n')}`;
}

function bodySentence({ body, bodyLimits }: RouteFacts): string | undefined {
  if (!body) return undefined;
  const values = bodyLimits.values.toLocaleString('en-US');
  return `The body may have at most ${bodyLimits.size} and ${values} values (array items and object members).`;
}

/** Returns the tag for a path: `/api/v1/role-groups/…` is "Role groups". */
function tagOf(url: string): string {
  const noun =
    url
      .replace(/^\/api\/v\d+/, '')
      .split('/')
      .find(Boolean) ?? 'service';
  const words = noun.replaceAll(/[^A-Za-z0-9]+/g, ' ').trim();
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
}

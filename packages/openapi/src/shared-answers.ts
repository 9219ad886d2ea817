// Moves error responses that several operations share into components, and resolves the references to them.
// It must not move successful responses: each stays with its operation.
import { componentName } from './schemas.ts';
import type { Answer, OpenApiDocument, Operation, Ref } from './types.ts';

const PREFIX = '#/components/responses/';

/**
 * Replaces repeated error responses by references, in place. Returns them by name. Throws when a name is not unique.
 */
export function shareAnswers(operations: readonly Operation[]): Record<string, Answer> {
  const uses = new Map<string, { name: string; count: number; answer: Answer }>();
  const visit = (
    visitor: (operation: Operation, status: string, answer: Answer, key: string) => void,
  ): void => {
    for (const operation of operations)
      for (const [status, answer] of Object.entries(operation.responses))
        if ('x-error-codes' in answer) visitor(operation, status, answer, JSON.stringify(answer));
  };
  visit((_operation, _status, answer, key) => {
    const known = uses.get(key);
    if (known) known.count += 1;
    else uses.set(key, { name: nameOf(answer), count: 1, answer });
  });
  visit((operation, status, _answer, key) => {
    const use = uses.get(key);
    if (use && use.count > 1) operation.responses[status] = { $ref: `${PREFIX}${use.name}` };
  });
  const shared = [...uses.values()].filter(({ count }) => count > 1);
  const sorted = shared.sort((a, b) => (a.name < b.name ? -1 : 1));
  const [clash] = sorted.filter(({ name }, at) => sorted[at - 1]?.name === name);
  if (clash) throw new Error(`two different error answers are named "${clash.name}"`);
  return Object.fromEntries(sorted.map(({ name, answer }) => [name, answer]));
}

/**
 * Returns a name from the codes, the headers of a rate limit, the type of its own body and whether it may be a page: error
 * responses differ in nothing else.
 */
const nameOf = (answer: Answer): string =>
  [
    ...(answer['x-error-codes'] ?? []),
    ...('RateLimit-Limit' in (answer.headers ?? {}) ? ['counted'] : []),
    ...(answer.content && !('application/problem+json' in answer.content)
      ? [componentName(answer.content['application/json']?.schema.$ref) ?? 'other']
      : []),
    ...('text/html' in (answer.content ?? {}) ? ['page'] : []),
  ].join('.');

/** Returns the operation's responses by status, with references resolved. */
export function answersOf(
  operation: Operation,
  document: OpenApiDocument,
): [status: string, answer: Answer][] {
  return Object.entries(operation.responses).map(([status, answer]) => [
    status,
    isRef(answer) ? sharedAnswer(document, answer) : answer,
  ]);
}

function sharedAnswer({ components }: OpenApiDocument, { $ref }: Ref): Answer {
  const answer = components.responses[$ref.slice(PREFIX.length)];
  if (!answer) throw new Error(`the document has no ${$ref}`);
  return answer;
}

const isRef = (answer: Answer | Ref): answer is Ref => '$ref' in answer;

// Writes error answers that several operations share once, under components, and finds them again.
// It must not share answers of success: each stands with its operation.
import type { Answer, OpenApiDocument, Operation, Ref } from './openapi.ts';

const PREFIX = '#/components/responses/';

/** Replaces repeated error answers by references, in place; answers them by name. Throws when a name is not unique. */
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

/** The codes, and whether the answer tells the rate limit: nothing else makes one error answer differ from another. */
const nameOf = (answer: Answer): string =>
  [
    ...(answer['x-error-codes'] ?? []),
    ...('RateLimit-Limit' in (answer.headers ?? {}) ? ['counted'] : []),
  ].join('.');

/** The operation's answers by status, with references followed. */
export function answersOf(
  operation: Operation,
  document: OpenApiDocument,
): [status: string, answer: Answer][] {
  const shared = document.components.responses as Record<string, Answer>;
  return Object.entries(operation.responses).map(([status, answer]) => [
    status,
    isRef(answer) ? (shared[answer.$ref.slice(PREFIX.length)] as Answer) : answer,
  ]);
}

const isRef = (answer: Answer | Ref): answer is Ref => '$ref' in answer;

// Answers evaluations of the AuthZEN API: one, or up to a thousand with one statement.
// It must not decide anything itself (authz/decision.ts). `properties` of a request never matter.
import {
  type Decision,
  type Decisions,
  Evaluation,
  type EvaluationSemantics,
  type EvaluationsInput,
} from '@castellan/contract/authzen';
import { AppError } from '../../platform/errors.ts';
import { createCheck } from '../../platform/http/bodies/validation.ts';
import { isObject } from '../../platform/unknown-values.ts';
import type { Caller } from '../authz/caller.ts';
import { decide, type Judged } from '../authz/decision.ts';
import type { Graph } from '../authz/graph/graph.ts';
import { toldNeed } from '../authz/requirements/call.ts';
import { endOfProof, nextRequirement, secondsUntil } from '../authz/requirements/next-change.ts';
import {
  asAskedBy,
  type KnownSubject,
  type SubjectReference,
  type SubjectSource,
} from '../authz/subjects.ts';
import { judgedIn, requireMayAsk } from './asking.ts';

export type EvaluationDeps = { subjectSource: SubjectSource };

type Question = Evaluation;

/**
 * Returns the decision. Throws `permission_denied` for a question about others without `access.check`. `isLive`: says how long
 * it may be kept.
 */
export async function evaluate(
  deps: EvaluationDeps,
  caller: Caller,
  question: Question,
  isLive: boolean,
): Promise<Decision> {
  const answer = await prepareAnswers(deps, caller, [question], isLive);
  return answer(question);
}

/** The decision that ends a list; null if none does. */
const endsWith = {
  execute_all: null,
  deny_on_first_deny: false,
  permit_on_first_permit: true,
} as const satisfies Record<EvaluationSemantics, boolean | null>;

/**
 * Returns the decisions in the order of the items, until the one that ends the list; without items a single decision on
 * the request itself. An item that cannot be evaluated is a deny with the error. Throws `permission_denied` if one item
 * is about another subject and the caller lacks `access.check`; `invalid_input` if there are no items and the request
 * is no evaluation.
 */
export async function evaluateAll(
  deps: EvaluationDeps,
  caller: Caller,
  { evaluations = [], options, ...defaults }: EvaluationsInput,
  isLive: boolean,
): Promise<Decision | Decisions> {
  if (evaluations.length === 0) {
    const question = readQuestion(defaults);
    if (question instanceof AppError) throw question;
    return evaluate(deps, caller, question, isLive);
  }
  const questions = evaluations.map((item) => readItem(item, defaults));
  const answer = await prepareAnswers(
    deps,
    caller,
    questions.filter((one): one is Question => !(one instanceof AppError)),
    isLive,
  );
  const end = endsWith[options?.evaluations_semantic ?? 'execute_all'];
  const decisions: Decision[] = [];
  for (const question of questions) {
    const decision = question instanceof AppError ? failed(question) : answer(question);
    decisions.push(decision);
    if (decision.decision === end) break;
  }
  return { evaluations: decisions };
}

const failed = ({ status, message }: AppError): Decision => ({
  decision: false,
  context: { error: { status, message } },
});

const check = createCheck(Evaluation);

/** Returns the question, or the error if the value is none. */
function readQuestion(value: unknown): Question | AppError {
  return check.accepts(value) ? value : check.refusalOf(value);
}

/** Reads an item. Its entities replace those of the request as a whole. */
function readItem(item: unknown, defaults: Record<string, unknown>): Question | AppError {
  if (!isObject(item) || Array.isArray(item))
    return new AppError('invalid_input', { detail: 'The evaluation must be an object.' });
  return readQuestion({ ...defaults, ...item });
}

/** Loads the subjects of the questions and returns the function that answers one. Throws `permission_denied`. */
async function prepareAnswers(
  deps: EvaluationDeps,
  caller: Caller,
  questions: readonly Question[],
  isLive: boolean,
): Promise<(question: Question) => Decision> {
  const references = new Map(questions.map(({ subject }) => [keyOf(subject), subject]));
  const loaded = await deps.subjectSource.load([...references.values()]);
  requireMayAsk(caller, loaded, 'access.check');
  const subjects = new Map([...references.keys()].map((key, index) => [key, loaded.subjects[index]]));
  return ({ subject: reference, resource, action, context }) => {
    const subject = subjects.get(keyOf(reference));
    const judged = judgedIn(caller, subject, context);
    const { decision, reason, permission, unmet } = decide(
      loaded.graph,
      subject && asAskedBy(caller.principal, subject),
      `${resource.type}.${action.name}`,
      judged,
    );
    return {
      decision,
      context: {
        reason,
        permission,
        ...(unmet ? toldNeed(unmet) : {}),
        ...(isLive && subject?.id === reference.id
          ? { fresh_for: freshFor(loaded.graph, subject, permission, judged) }
          : {}),
      },
    };
  };
}

/**
 * Returns for how many seconds time alone does not change a decision about the permission with this name. It must be about the id of
 * the subject: the feed does not tell when another one takes its name.
 */
function freshFor(
  graph: Graph,
  subject: KnownSubject,
  permission: string,
  { proved, accountPolicy: policy, now }: Judged,
): number {
  if (subject.type !== 'user') return secondsUntil([], now);
  const id = graph.permissions.idOf(permission);
  const need = id === undefined ? undefined : graph.permissions.needOf(id);
  return secondsUntil(
    [
      endOfProof(proved, need, now),
      policy ? nextRequirement({ graph, policy, now }, subject) : Number.POSITIVE_INFINITY,
    ],
    now,
  );
}

// No text of a request contains NUL.
const keyOf = ({ type, id }: SubjectReference): string => `${type}\0${id}`;

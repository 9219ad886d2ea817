// Who may ask about whom: everybody about themselves, and holders of a permission about others. And by which proof the subject
// of a question is judged: by that of the request, or of the caller's own token.
// It must not answer a question.
import { acrValues } from '@castellan/contract/authentication';
import { DecisionContext } from '@castellan/contract/authzen';
import type { Permission } from '@castellan/contract/permissions';
import { createCheck } from '../../platform/http/bodies/validation.ts';
import type { Caller } from '../authz/caller.ts';
import type { Judged } from '../authz/decision.ts';
import type { Graph } from '../authz/graph/graph.ts';
import { provedBy, requireMayUse } from '../authz/requirements/call.ts';
import { isOneself, type KnownSubject, type LoadedSubjects } from '../authz/subjects.ts';

/**
 * Requires the permission unless every subject is the caller. An unknown subject counts as another one. Throws
 * `permission_denied` and `step_up_required`.
 */
export function requireMayAsk(
  caller: Caller,
  { subjects, graph }: LoadedSubjects,
  permission: Permission,
): void {
  if (subjects.every((subject) => isOneself(caller.principal, subject))) return;
  requireMayAskAboutOthers(caller, graph, permission);
}

/** Requires the permission to ask about others. Throws `permission_denied` and `step_up_required`. */
export const requireMayAskAboutOthers = (caller: Caller, graph: Graph, permission: Permission): void =>
  requireMayUse(
    { ...caller, graph },
    permission,
    `You may only ask about yourself. Asking about others requires the permission ${permission}.`,
  );

/** Clocks of other services may be ahead by this much. */
const TOLERANCE_MS = 60_000;

/**
 * Returns by what a question about the subject is judged. A user who asks about themselves is judged by their token, which meets
 * what their account asks for. The account of anybody else counts only where the request says how they signed in.
 */
export function judgedIn(
  { principal, policy, judgedAt: now }: Caller,
  subject: KnownSubject | undefined,
  context: DecisionContext = {},
): Judged {
  if (principal.type === 'user' && isOneself(principal, subject))
    return { proved: provedBy(principal), accountPolicy: null, now };
  const { acr, auth_time } = context;
  return {
    proved: {
      acr: acrValues.find((one) => one === acr) ?? 'aal1',
      authTime: timeIn(auth_time, now),
    },
    accountPolicy: acr === undefined ? null : policy,
    now,
  };
}

const check = createCheck(DecisionContext);

/** Throws `invalid_input` (400) for a context that evaluations would not take. */
export function requireContext(value: unknown): DecisionContext | undefined {
  if (value === undefined || check.accepts(value)) return value;
  throw check.refusalOf(value);
}

function timeIn(seconds: number | undefined, now: number): Date | null {
  if (seconds === undefined || seconds * 1_000 > now + TOLERANCE_MS) return null;
  const time = new Date(seconds * 1_000);
  return Number.isNaN(time.getTime()) ? null : time;
}

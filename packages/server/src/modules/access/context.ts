// Reads how the subject of a question was authenticated: from the request, or from the caller's own token.
// It must not decide anything.

import { acrValues } from '@castellan/contract/authentication';
import { DecisionContext } from '@castellan/contract/authzen';
import { createCheck } from '../../platform/http/bodies/validation.ts';
import type { Caller } from '../authz/caller.ts';
import type { Judged } from '../authz/decision.ts';
import { isOneself, type KnownSubject } from '../authz/subjects.ts';

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
    return { proved: principal.session.context, accountPolicy: null, now };
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

// Previews a change of access: the refusal that it would get, or who would gain and lose what.
// It must not hold a lock while it computes the impact, and it writes nothing but one audit entry.
import {
  type AccessImpact,
  type AccessPreview,
  type AccessPreviewEnvelope,
  NAMED_SUBJECTS,
} from '@castellan/contract/access-changes';
import { brokenConstraint } from '../../../platform/db/failures.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Gate } from '../../../platform/limits/gate.ts';
import { constraintCodes } from '../../../schema/constraints.ts';
import { recordEvent } from '../../audit/service.ts';
import { actorOf, type Caller } from '../caller.ts';
import { type ChangeDeps, type Entry, type Run, rehearseChange } from '../change.ts';
import type { Graph } from '../graph/graph.ts';
import { mayUse } from '../requirements/call.ts';
import { type AccessDelta, findImpact } from './impact.ts';

/** `previewGate` limits the impacts that are computed at once in this process: with 100,000 holders one takes a second. */
export type PreviewDeps = ChangeDeps & { previewGate: Gate };

/**
 * Rehearses the change and returns its preview. The rehearsal is over, with its locks, before the impact is computed.
 * Throws what refuses the caller rather than the change: 401, 403 of the operation itself, 404, 429, and every 5xx. `about` names the record for the audit log.
 */
export async function preview(
  deps: PreviewDeps,
  caller: Caller,
  about: Pick<Entry, 'resourceType' | 'resourceId'>,
  run: Run<unknown>,
): Promise<AccessPreviewEnvelope> {
  const { refusal, delta } = await rehearsed(deps, caller, run);
  const impact = delta
    ? withNeeds(
        caller.graph,
        await deps.previewGate.run('all', caller.client, () => findImpact(deps.db, delta, namedTo(caller))),
      )
    : null;
  await recordEvent(deps, caller.client, {
    action: 'access_previewed',
    ...actorOf(caller.principal),
    ...about,
    details: {
      operation: caller.operation,
      ...(refusal ? { would_be_refused: refusal.code } : {}),
      ...(impact ? { gaining: impact.gaining, losing: impact.losing, inactive: impact.inactive } : {}),
    },
  });
  return {
    data: { dry_run: true, would_be_refused: refusal, impact },
    message: refusal
      ? 'Nothing was changed: the change would be refused.'
      : 'Nothing was changed: this is what the change would do.',
  };
}

/** Adds to each permission what it asks for. */
function withNeeds({ permissions }: Graph, impact: AccessImpact): AccessImpact {
  if (!permissions.hasNeeds) return impact;
  const withNeed = (one: AccessImpact['gained'][number]): AccessImpact['gained'][number] => {
    const need = permissions.needOf(permissions.idOf(one.permission) ?? '');
    return need
      ? { ...one, authentication: { required_acr: need.acr, max_auth_age: need.maxAgeSeconds } }
      : one;
  };
  return { ...impact, gained: impact.gained.map(withNeed), lost: impact.lost.map(withNeed) };
}

/**
 * How many subjects the preview names. Callers who may neither explain access nor read users get numbers only: a change may
 * be previewed with less. More names than a preview has by default are a list of holders, which requires `access.explain`.
 */
export function namedTo(caller: Caller): number {
  if (mayUse(caller, 'access.explain')) return caller.namedSubjects;
  return mayUse(caller, 'users.read') ? Math.min(caller.namedSubjects, NAMED_SUBJECTS) : 0;
}

type Rehearsed =
  | { refusal: NonNullable<AccessPreview['would_be_refused']>; delta: null }
  | { refusal: null; delta: AccessDelta };

/** Returns the refusal of the change, or what it does. Throws what refuses the caller rather than the change. */
export async function rehearsed(deps: ChangeDeps, caller: Caller, run: Run<unknown>): Promise<Rehearsed> {
  try {
    return { refusal: null, delta: await rehearseChange(deps, caller, run) };
  } catch (thrown) {
    const { status, code, message } = refusalIn(thrown);
    return { refusal: { status, code, detail: message }, delta: null };
  }
}

/** Returns the refusal of the change. Throws everything else again. */
function refusalIn(thrown: unknown): AppError {
  const constraint = constraintCodes[brokenConstraint(thrown) ?? ''];
  const error = constraint ? new AppError(constraint) : thrown;
  if (error instanceof AppError && !concernsCaller(error)) return error;
  throw error;
}

const concernsCaller = ({ status, code }: AppError): boolean =>
  status === 401 ||
  status === 404 ||
  status === 429 ||
  status >= 500 ||
  code === 'permission_denied' ||
  code === 'user_required' ||
  code === 'user_session_required' ||
  code === 'password_change_required' ||
  code === 'step_up_required' ||
  code === 'second_factor_enrolment_required';

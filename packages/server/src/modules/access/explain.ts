// Explains one decision: the reason, the roles that it comes from, and after a denial the roles that would change it.
// It must not decide: `decide` does, from the same subject and the same graph.
import type { ExplainBody, Explanation, NearestRole } from '@castellan/contract/explanations';
import type { Db } from '../../schema/database.ts';
import type { Caller } from '../authz/caller.ts';
import { decide } from '../authz/decision.ts';
import { allSourcesOf, type Subject, sourcesOf } from '../authz/effective.ts';
import type { Graph } from '../authz/graph/graph.ts';
import { mayUse, toldNeed } from '../authz/requirements/call.ts';
import { everywhere } from '../authz/scope.ts';
import { asAskedBy, type SubjectSource } from '../authz/subjects.ts';
import { judgedIn, requireContext, requireMayAsk } from './asking.ts';
import { findNearestRoles } from './nearest-roles.ts';
import { presenterOf } from './sources.ts';
import { countHoldersOf } from './sources-store.ts';

type ExplainDeps = { db: Db; subjectSource: SubjectSource };

/**
 * Explains whether a subject may do something. Every caller may ask about itself. Throws `permission_denied` for a
 * question about anybody else without `access.explain`, whether or not the subject exists.
 */
export async function explain(
  { db, subjectSource }: ExplainDeps,
  caller: Caller,
  { subject: reference, permission, context: given }: ExplainBody,
): Promise<Explanation> {
  const context = requireContext(given);
  const loaded = await subjectSource.load([reference]);
  requireMayAsk(caller, loaded, 'access.explain');
  const {
    subjects: [found],
    graph,
  } = loaded;
  const { principal } = caller;
  const subject = found && asAskedBy(principal, found);
  const { unmet, ...verdict } = decide(graph, subject, permission, judgedIn(caller, found, context));
  const permissionId = graph.permissions.idOf(permission);
  const roles =
    subject && permissionId !== undefined ? sourcesOf(graph, everywhere(subject), permissionId) : [];
  const details = subject && (await subjectSource.detailsOf(subject));
  const sourceOf = await presenterOf(
    db,
    roles.map(({ id }) => id),
  );
  const isHeld = verdict.decision || unmet !== null;
  const isWanting = !isHeld && permissionId !== undefined && mayUse({ ...caller, graph }, 'access.explain');
  const need = permissionId === undefined ? undefined : graph.permissions.needOf(permissionId);
  return {
    ...verdict,
    ...(unmet ? toldNeed(unmet) : {}),
    ...(need ? { required_acr: need.acr, max_auth_age: need.maxAgeSeconds } : {}),
    subject: subject
      ? { type: subject.type, id: subject.id, name: details?.name ?? null }
      : { type: reference.type, id: reference.id, name: null },
    sources: roles.map(sourceOf),
    notices: details?.notices ?? [],
    nearest: isWanting ? await nearestRoles(db, graph, subject, permissionId) : [],
  };
}

async function nearestRoles(
  db: Db,
  graph: Graph,
  subject: Subject | undefined,
  permissionId: string,
): Promise<NearestRole[]> {
  const held = new Set(subject ? allSourcesOf(graph, everywhere(subject)).keys() : []);
  const nearest = await findNearestRoles(graph, permissionId, held);
  const holders = await countHoldersOf(
    db,
    nearest.map(({ role }) => role.id),
  );
  return nearest.map(({ role: { id, name }, adds }) => ({
    role: { id, name },
    holders: holders.get(id) ?? 0,
    adds,
  }));
}

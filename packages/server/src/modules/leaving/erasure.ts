// Erases an account for an administrator: with its roles at once, and then the personal data in its audit entries, batch by batch.
// An instance that stops in between leaves the rest to the clean-up.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AccessPreviewEnvelope } from '@castellan/contract/access-changes';
import { ERASED } from '@castellan/contract/personal-members';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { requireVersion } from '../../platform/http/record-version.ts';
import type { Tx } from '../../schema/database.ts';
import {
  type Assignee,
  lockRoles,
  nameOf,
  planRoles,
  rolesDelta,
  takenBy,
  writeRoles,
} from '../assignments/service.ts';
import { eraseBatch, type Stage } from '../audit/personal/erasure.ts';
import { type Audited, recordChange } from '../audit/service.ts';
import { actorOf, type Caller } from '../authz/caller.ts';
import { change, type Entitled, type Run } from '../authz/change.ts';
import {
  requireMayTake,
  requireNotBeyond,
  requireProvedAll,
  requireProvedForTakeover,
} from '../authz/delegation.ts';
import { type PreviewDeps, preview } from '../authz/impact/preview.ts';
import { clearAttempts } from '../lockout/service.ts';
import { endSessionsOfUsers } from '../sessions/service.ts';
import { lockGrantsCreatedBy } from '../users/authored-store.ts';
import { lockIfAuthor } from '../users/deletion.ts';
import { forgetFormerUsers } from '../users/lists/page-marks.ts';
import { toUser } from '../users/presentation.ts';
import { requireMayActOn, requireSuperuserWithout } from '../users/protection.ts';
import type { UserDeps, VersionedUser } from '../users/service.ts';
import { deleteUserRow } from '../users/store.ts';
import {
  deleteErasure,
  findProgress,
  forgetMails,
  insertErasure,
  listErasures,
  lockErasure,
  moveOn,
} from './erasure-store.ts';

export type ErasureDeps = PreviewDeps & UserDeps;

type Gone = { roles: number; sessions: number };
type Erased = Gone & { user_id: string; audit_entries: number; finished: boolean };

/** How long a request erases entries; the clean-up goes on. Some ten thousand entries. */
const REQUEST_MS = 5_000;
/** How long it removes what lists keep of former users. Usually some milliseconds. */
const LISTS_MS = 1_000;

/**
 * Erases a user. Throws, in order, 401, 403, 404, 403 (standing as for a takeover, oneself), 412, 403 (roles), 409 (last superuser).
 */
export async function eraseUser(deps: ErasureDeps, caller: Caller, id: string): Promise<Erased> {
  const gone = await change(deps, caller, erasing(id));
  // The account is gone, whatever becomes of the entries now.
  const entries = await eraseEntries(deps, { userId: id, client: caller.client }, REQUEST_MS).catch(
    (error: unknown) => {
      deps.auditLog.log.error(
        { err: error, user_id: id },
        'the clean-up goes on with an erasure that failed',
      );
      return 0;
    },
  );
  await forgetFormerUsers(deps.db, LISTS_MS).catch((error: unknown) =>
    deps.auditLog.log.error(
      { err: error, user_id: id },
      'the clean-up removes what lists keep of a user who was erased',
    ),
  );
  const left = await findProgress(deps.db, id);
  return { user_id: id, ...gone, audit_entries: left ?? entries, finished: left === null };
}

export const previewErasure = (
  deps: ErasureDeps,
  caller: Caller,
  id: string,
): Promise<AccessPreviewEnvelope> =>
  preview(deps, caller, { resourceType: 'user', resourceId: id }, erasing(id));

const erasing =
  (id: string): Run<Gone> =>
  async (locking) => {
    const { tx, caller } = locking;
    const isAuthor = await lockIfAuthor(tx, id);
    const { entitled, user } = await requireMayActOn(locking, id);
    if (id === caller.principal.id) throw new AppError('self_delete');
    const assignee: Assignee = { type: 'user', id, role_ids: user.role_ids };
    await requireTakeover(entitled, user, assignee);
    await requireVersion(caller.ifMatch, user.version, () => toUser(user, caller.graph));
    if (isAuthor) await lockGrantsCreatedBy(tx, id, user.role_ids);
    const roles = await lockRoles(tx, user.role_ids);
    const plan = planRoles({ assignee, roles: { replace: [] }, at: (field) => field });
    await requireMayTake(entitled, { assignments: takenBy([plan]) });
    await writeRoles(entitled, [plan]);
    const ended = await endSessionsOfUsers(tx, [id], 'deleted');
    await forgetMails(tx, user);
    await deleteUserRow(entitled, id);
    await requireSuperuserWithout(tx, user);
    const gone = { roles: roles.length, sessions: ended.get(id) ?? 0 };
    const { actorId, actorType, actorName, actorKeyId } = actorOf(caller.principal);
    await insertErasure(tx, {
      user_id: id,
      email: user.email,
      actor_id: actorId,
      actor_type: actorType,
      actor_name: actorName,
      actor_key_id: actorKeyId,
      ...gone,
    });
    // Last: sign-ins with this email wait for it.
    await clearAttempts(tx, user.email);
    return entitled.done(
      gone,
      { ...rolesDelta([plan]), subjects: [{ id, is_deleted: true as const }] },
      {
        action: 'user_deleted',
        resourceType: 'user',
        resourceId: id,
        resourceName: ERASED,
        details: { reason: 'erasure', roles: roles.map(({ name }) => name).sort() },
      },
    );
  };

/** What is erased cannot come back, so it takes what a takeover takes. Throws 403. */
async function requireTakeover(entitled: Entitled, user: VersionedUser, assignee: Assignee): Promise<void> {
  const target = { id: user.user_id, all: true, field: 'user_id', about: nameOf(assignee) };
  if (!entitled.isSuperuser) await requireNotBeyond(entitled, [target]);
  if (user.is_superuser) await requireProvedAll(entitled);
  await requireProvedForTakeover(entitled, [target]);
}

const nextStage: Readonly<Record<Stage, Stage | null>> = {
  actor: 'acted_by',
  acted_by: 'resource',
  resource: 'email',
  email: null,
};

/**
 * Goes on with an erasure until it is finished, somebody else goes on with it, or the time is over. Returns how many entries were
 * erased in all.
 */
async function eraseEntries(deps: Audited, about: About, budgetMs: number): Promise<number> {
  const deadline = performance.now() + budgetMs;
  let entries = 0;
  do {
    const done = await inTransaction(deps.db, (tx) => eraseNext(deps, tx, about));
    if (done === null) break;
    entries = done.entries;
    if (done.isFinished) break;
    // Other requests run between two batches.
    await nextTurn();
  } while (performance.now() < deadline);
  return entries;
}

/** `client`: of the request that erases; null for the clean-up. */
type About = { userId: string; client: Client | null };
type Step = { entries: number; isFinished: boolean };

/** Erases one batch. Returns null if the erasure is finished, or another transaction works on it. */
async function eraseNext({ auditLog }: Audited, tx: Tx, { userId, client }: About): Promise<Step | null> {
  const erasure = await lockErasure(tx, userId);
  if (!erasure) return null;
  const { stage, after, email } = erasure;
  const { erased, last } = await eraseBatch(tx, { userId, email }, { stage, after });
  const entries = erasure.entries + erased;
  const next = last === null ? nextStage[stage] : stage;
  if (next !== null) {
    await moveOn(tx, userId, { entries, stage: next, after: last });
    return { entries, isFinished: false };
  }
  await deleteErasure(tx, userId);
  const { actor_id, actor_type, actor_name, actor_key_id, roles, sessions } = erasure;
  await recordChange(tx, auditLog, client, {
    action: 'user_erased',
    actorId: actor_id,
    actorType: actor_type === 'user' ? 'user' : 'service_account',
    actorName: actor_name,
    actorKeyId: actor_key_id,
    resourceType: 'user',
    resourceId: userId,
    resourceName: ERASED,
    details: { roles, sessions, audit_entries: entries },
  });
  return { entries, isFinished: true };
}

/** Goes on with what requests left, and instances that stopped. Returns how many erasures it went on with. */
export async function finishErasures(deps: Audited, budgetMs: number): Promise<number> {
  const ids = await listErasures(deps.db);
  const deadline = performance.now() + budgetMs;
  for (const id of ids)
    await eraseEntries(deps, { userId: id, client: null }, Math.max(0, deadline - performance.now()));
  return ids.length;
}

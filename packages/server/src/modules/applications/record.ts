// Shared by the services of applications: presents one, locks one for a change, describes it for the audit log.
// It must not change an application.
import type { Application, UpdateApplicationBody } from '@castellan/contract/applications';
import { AppError } from '../../platform/errors.ts';
import type { Versioned } from '../../platform/http/record-version.ts';
import { type Entitled, type Entry, type Locking, lockSubjects } from '../authz/change.ts';
import { requireMayGrantPermissions } from '../authz/delegation.ts';
import type { PreviewDeps } from '../authz/impact/preview.ts';
import { mayUse } from '../authz/requirements/call.ts';
import type { KeyRing } from '../sessions/keys/ring.ts';
import type { ApplicationFields } from './fields.ts';
import { refusal } from './refusal.ts';
import { type ApplicationRow, lockApplication, lockResources, readApplication } from './store.ts';

export type ApplicationDeps = PreviewDeps & { keyRing: KeyRing; settings: { publicUrl: string } };

export function toApplication({ version: _version, ...row }: ApplicationRow): Application {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}

export const versionedApplication = (row: ApplicationRow): Versioned<Application> => ({
  record: toApplication(row),
  version: row.version,
});

/** Returns what a change may change, which is also what the audit log shows. */
export function fieldsOf(row: ApplicationRow): ApplicationFields {
  const { id, client_id, type, created_at, updated_at, created_by_id, version, ...fields } = row;
  return fields;
}

/** Locks the caller and the application until the transaction ends. Throws, in order, 404, then 401 or 403. */
export async function requireApplication(
  locking: Locking,
  id: string,
): Promise<{ entitled: Entitled; application: ApplicationRow }> {
  await lockSubjects(locking, {});
  if (!(await lockApplication(locking.tx, id))) throw new AppError('application_not_found');
  const entitled = await locking.entitle();
  // A separate statement, so that it sees what was committed while the locks were awaited.
  return { entitled, application: await readApplication(locking.tx, id) };
}

/** Returns the audit entry of a change of the application `id`. */
export const applicationEntry = (
  action: Entry['action'],
  id: string,
  change: Pick<Entry, 'before' | 'after' | 'details'>,
): Entry => ({ action, resourceType: 'application', resourceId: id, ...change });

/**
 * Returns what a body says about API resources, with the ids that null stands for. Throws `api_resource_not_found`, and
 * `validation_failed` for a resource that is named twice or a permission that is no scope of it.
 */
export async function cleanResources(
  { tx, caller }: Entitled,
  given: NonNullable<UpdateApplicationBody['resources']>,
): Promise<Application['resources']> {
  const ids = given.map(({ resource_id }) => resource_id.toLowerCase());
  const { found, scopes } = await lockResources(tx, ids);
  const cleaned = given.map(({ permission_ids }, index) => {
    const field = `resources.${index}`;
    const resource_id = ids[index] ?? '';
    if (!found.has(resource_id)) throw new AppError('api_resource_not_found');
    if (ids.indexOf(resource_id) !== index)
      throw refusal(`${field}.resource_id`, 'duplicate', 'must name a resource once');
    const all = scopes.filter((scope) => scope.resource_id === resource_id);
    if (permission_ids === null)
      return {
        resource_id,
        permission_ids: all.filter(({ name }) => mayUse(caller, name)).map(({ id }) => id),
      };
    const wanted = new Set(permission_ids.map((id) => id.toLowerCase()));
    for (const id of wanted)
      if (!all.some((scope) => scope.id === id))
        throw refusal(
          `${field}.permission_ids`,
          'unknown_id',
          'must name permissions of the groups of the resource',
        );
    return { resource_id, permission_ids: [...wanted].sort() };
  });
  return cleaned.sort((a, b) => (a.resource_id < b.resource_id ? -1 : 1));
}

/**
 * Requires that the caller holds everything that tokens of the application may carry: anyone who sets what it receives them by
 * can receive them. Throws `privilege_escalation`.
 */
export const requireMayCarry = (
  entitled: Entitled,
  ...resources: readonly Application['resources'][]
): Promise<void> =>
  requireMayGrantPermissions(entitled, [
    ...new Set(resources.flat().flatMap(({ permission_ids }) => permission_ids)),
  ]);

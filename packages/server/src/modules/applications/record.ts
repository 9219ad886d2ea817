// Shared by the services of applications: presents one, locks one for a change, describes it for the audit log.
// It must not change an application.
import type { Application } from '@castellan/contract/applications';
import { AppError } from '../../platform/errors.ts';
import type { Versioned } from '../../platform/http/record-version.ts';
import { type ChangeDeps, type Entitled, type Entry, type Locking, lockSubjects } from '../authz/change.ts';
import type { KeyRing } from '../sessions/key-ring.ts';
import type { ApplicationFields } from './fields.ts';
import { type ApplicationRow, lockApplication, readApplication } from './store.ts';

export type ApplicationDeps = ChangeDeps & { keyRing: KeyRing; settings: { publicUrl: string } };

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

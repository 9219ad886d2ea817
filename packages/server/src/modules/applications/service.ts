// Rules of applications: who may create and change them, and whom they let in. Their secrets are in secrets.ts.
import { isDeepStrictEqual } from 'node:util';
import type { ApplicationPreviewEnvelope } from '@castellan/contract/application-grants';
import type {
  Application,
  ApplicationListQuery,
  CreateApplicationBody,
  ListedApplication,
  NewApplication,
  UpdateApplicationBody,
} from '@castellan/contract/applications';
import type { Pagination } from '@castellan/contract/common';
import { AppError } from '../../platform/errors.ts';
import type { Settle } from '../../platform/http/plugins/idempotency.ts';
import { requireVersion, type Versioned } from '../../platform/http/record-version.ts';
import { newId, UUID } from '../../platform/ids.ts';
import { paginationOf } from '../../platform/pages.ts';
import { OWN_CLIENT_ID } from '../../platform/security/jwt.ts';
import { cleanNewName, requireNoId } from '../../platform/security/record-text.ts';
import { type Ends, previewEnds } from '../application-grants/preview.ts';
import { authorIdOf, type Caller, requireLasting } from '../authz/caller.ts';
import { change, type Entitled, lockSubjects, type Run } from '../authz/change.ts';
import { requireMayGrantPermissions } from '../authz/delegation.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import { changedFields, defaultsOf, MAX_NAME_LENGTH } from './fields.ts';
import {
  type ApplicationDeps,
  applicationEntry,
  cleanResources,
  fieldsOf,
  requireApplication,
  requireMayCarry,
  toApplication,
  versionedApplication,
} from './record.ts';
import { refusal } from './refusal.ts';
import { issueSecret, secretEntry } from './secrets.ts';
import {
  type ApplicationRow,
  countApplications,
  deleteApplicationRow,
  findApplication,
  hasClientId,
  insertApplication,
  isPermission,
  listApplications as listRows,
  readApplication,
  updateApplication as updateRow,
} from './store.ts';

/** Returns one page of applications, sorted by name. */
export async function listApplications(
  { db }: ApplicationDeps,
  query: ApplicationListQuery,
): Promise<{ data: ListedApplication[]; pagination: Pagination }> {
  const [total, rows] = await Promise.all([countApplications(db, query), listRows(db, query)]);
  const data = rows.map(({ people, last_sign_in_at, ...row }) => ({
    ...toApplication(row),
    people,
    last_sign_in_at: last_sign_in_at?.toISOString() ?? null,
  }));
  return { data, pagination: paginationOf(query, total) };
}

export async function getApplication({ db }: ApplicationDeps, id: string): Promise<Versioned<Application>> {
  const application = await findApplication(db, id);
  if (!application) throw new AppError('application_not_found');
  return versionedApplication(application);
}

/**
 * Creates an application, with a secret if it authenticates itself by one. Throws 422, 404 (permission), 403 (a permission
 * that the caller lacks), 409 (client id, name).
 */
export async function createApplication(
  deps: ApplicationDeps,
  caller: Caller,
  body: CreateApplicationBody,
  settle: Settle<Versioned<NewApplication>>,
): Promise<Versioned<NewApplication>> {
  const { client_id: givenId, name: givenName, type = 'web', ...given } = body;
  const client_id = cleanClientId(givenId);
  const name = cleanNewName(givenName, MAX_NAME_LENGTH);
  const { resources = [], ...others } = given;
  const cleaned = changedFields(defaultsOf(type, name), others, { type, ...deps.settings });
  const id = newId();
  return change(
    deps,
    caller,
    async (locking) => {
      const { tx } = locking;
      await lockSubjects(locking, {});
      const entitled = await locking.entitle();
      if (cleaned.auth_method !== 'none') requireLasting(caller);
      await requireMayRequire(entitled, [cleaned.required_permission_id]);
      const fields = { ...cleaned, resources: await cleanResources(entitled, resources) };
      await requireMayCarry(entitled, fields.resources);
      if (await hasClientId(tx, client_id)) throw clientIdTaken();
      await insertApplication(entitled, { id, client_id, type, fields, created_by_id: authorIdOf(caller) });
      await deps.keyRing.addMissing(tx);
      const created = applicationEntry('application_created', id, {
        before: null,
        after: { client_id, type, ...fields },
      });
      const { record, version } = versionedApplication(await readApplication(tx, id));
      if (fields.auth_method !== 'secret') return entitled.done({ record, version }, sameAccess, created);
      const { secret, ...about } = await issueSecret(entitled, id, { name: 'Secret', expiresAt: null });
      const result = { record: { ...record, client_secret: secret }, version };
      return entitled.done(
        result,
        sameAccess,
        created,
        secretEntry('application_secret_created', record, about),
      );
    },
    settle,
  );
}

const CLIENT_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

function cleanClientId(text: string): string {
  if (!CLIENT_ID.test(text))
    throw refusal(
      'client_id',
      'invalid_client_id',
      'must have 1 to 100 letters, digits, dots, underscores or hyphens, and begin with a letter or a digit',
    );
  if (UUID.test(text))
    throw refusal('client_id', 'uuid_name', 'must not be a UUID, which would name a service account');
  if (text.toLowerCase() === OWN_CLIENT_ID)
    throw refusal(
      'client_id',
      'reserved',
      `must not be ${OWN_CLIENT_ID}, which names this service in its own tokens`,
    );
  return text;
}

function clientIdTaken(): AppError {
  const message = 'is already taken by another application';
  return new AppError('name_taken', {
    detail: `client_id ${message}.`,
    errors: [{ field: 'client_id', code: 'name_taken', message }],
  });
}

/**
 * Requires that the caller holds the permissions: who lets a permission decide about sign-ins, or no longer, holds it. Throws
 * `permission_not_found` for an unknown one, `privilege_escalation`.
 */
async function requireMayRequire(entitled: Entitled, ids: readonly (string | null)[]): Promise<void> {
  const required = ids.filter((id) => id !== null);
  for (const id of required)
    if (!(await isPermission(entitled.tx, id)))
      throw new AppError('permission_not_found', {
        detail: 'required_permission_id names a permission that does not exist.',
        errors: [
          {
            field: 'required_permission_id',
            code: 'unknown_id',
            message: 'names a permission that does not exist',
          },
        ],
      });
  await requireMayGrantPermissions(entitled, required);
}

/** Who sets these can receive tokens of the application, or decides what they carry. */
const receiving = [
  'redirect_uris',
  'allowed_origins',
  'auth_method',
  'jwks',
  'jwks_url',
  'grant_types',
  'resources',
] as const;

/** How an application proves itself at the token services. */
const authenticating = ['auth_method', 'jwks', 'jwks_url'] as const;

/** Changes an application. Writes nothing if every field already has its value. Throws 400, 404, 403, 412, 422, 409. */
export const updateApplication = async (
  deps: ApplicationDeps,
  caller: Caller,
  id: string,
  body: UpdateApplicationBody,
): Promise<Versioned<Application>> =>
  versionedApplication(await change(deps, caller, updating(deps, caller, id, body)));

/** Previews a change of an application: how much access it would end. */
export const previewApplicationUpdate = (
  deps: ApplicationDeps,
  caller: Caller,
  id: string,
  body: UpdateApplicationBody,
): Promise<ApplicationPreviewEnvelope> =>
  previewEnds(deps, caller, { id, ends: endsOf(body) }, updating(deps, caller, id, body));

function endsOf({ is_active, required_permission_id: permission = null }: UpdateApplicationBody): Ends {
  if (is_active === false) return 'all';
  return permission === null ? 'none' : { without: permission };
}

const updating =
  (
    deps: ApplicationDeps,
    caller: Caller,
    id: string,
    { client_id, type, resources, ...given }: UpdateApplicationBody,
  ): Run<ApplicationRow> =>
  async (locking) => {
    const { entitled, application } = await requireApplication(locking, id);
    await requireVersion(caller.ifMatch, application.version, () => toApplication(application));
    requireSame(application, { client_id, type });
    const before = fieldsOf(application);
    const after = {
      ...changedFields(before, given, { type: application.type, ...deps.settings }),
      ...(resources === undefined ? {} : { resources: await cleanResources(entitled, resources) }),
    };
    if (after.name !== before.name) requireNoId(after.name);
    if (isDeepStrictEqual(after, before)) return entitled.unchanged(application);
    if (after.required_permission_id !== before.required_permission_id)
      await requireMayRequire(entitled, [after.required_permission_id, before.required_permission_id]);
    if (authenticating.some((name) => !isDeepStrictEqual(after[name], before[name]))) requireLasting(caller);
    if (receiving.some((name) => !isDeepStrictEqual(after[name], before[name])))
      await requireMayCarry(entitled, before.resources, after.resources);
    await updateRow(entitled, id, after);
    const entry = applicationEntry('application_updated', id, { before, after });
    return entitled.done(await readApplication(locking.tx, id), sameAccess, entry);
  };

/** Throws `field_not_allowed` for another value of a field that is fixed. */
function requireSame(
  application: Pick<Application, 'client_id' | 'type'>,
  given: { client_id: string | undefined; type: string | undefined },
): void {
  for (const field of ['client_id', 'type'] as const) {
    if (given[field] === undefined || given[field] === application[field]) continue;
    const message = 'cannot be changed; create another application';
    throw new AppError('field_not_allowed', {
      detail: `${field} ${message}.`,
      errors: [{ field, code: 'not_allowed', message }],
    });
  }
}

/** Deletes an application with its secrets and all access to it. Returns the deleted record. Throws 404, 403, 412. */
export const deleteApplication = async (
  deps: ApplicationDeps,
  caller: Caller,
  id: string,
): Promise<Application> => toApplication(await change(deps, caller, deleting(caller, id)));

/** Previews the deletion of an application: how much access it would end. */
export const previewApplicationDeletion = (
  deps: ApplicationDeps,
  caller: Caller,
  id: string,
): Promise<ApplicationPreviewEnvelope> =>
  previewEnds(deps, caller, { id, ends: 'all' }, deleting(caller, id));

const deleting =
  (caller: Caller, id: string): Run<ApplicationRow> =>
  async (locking) => {
    const { entitled, application } = await requireApplication(locking, id);
    await requireVersion(caller.ifMatch, application.version, () => toApplication(application));
    await requireMayRequire(entitled, [application.required_permission_id]);
    await deleteApplicationRow(entitled, id);
    const before = { client_id: application.client_id, type: application.type, ...fieldsOf(application) };
    const entry = applicationEntry('application_deleted', id, { before, after: null });
    return entitled.done(application, sameAccess, entry);
  };

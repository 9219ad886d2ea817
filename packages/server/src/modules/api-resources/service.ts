// Rules of API resources: what they are named by, and which permissions are their scopes.
// What applications may carry there is in modules/applications.
import { isDeepStrictEqual } from 'node:util';
import type {
  ApiResource,
  ApiResourceListQuery,
  CreateApiResourceBody,
  UpdateApiResourceBody,
} from '@castellan/contract/api-resources';
import type { Pagination } from '@castellan/contract/common';
import { permissionCatalogue } from '@castellan/contract/permissions';
import { AppError } from '../../platform/errors.ts';
import type { Settle } from '../../platform/http/plugins/idempotency.ts';
import { requireVersion, type Versioned } from '../../platform/http/record-version.ts';
import { newId } from '../../platform/ids.ts';
import { paginationOf } from '../../platform/pages.ts';
import { cleanDescription, cleanName, requireNoId } from '../../platform/security/record-text.ts';
import { authorIdOf, type Caller } from '../authz/caller.ts';
import {
  type ChangeDeps,
  change,
  type Entitled,
  type Entry,
  type Locking,
  lockSubjects,
} from '../authz/change.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import { cleanIdentifier } from './identifier.ts';
import {
  type ApiResourceFields,
  type ApiResourceRow,
  countApiResources,
  deleteApiResourceRow,
  findApiResource,
  hasIdentifier,
  insertApiResource,
  isUsedByApplication,
  listApiResources as listRows,
  lockApiResource,
  lockGroupNames,
  readApiResource,
  updateApiResource as updateRow,
} from './store.ts';

export type ApiResourceDeps = ChangeDeps & { settings: { publicUrl: string } };

const MAX_NAME_LENGTH = 250;
/** Names of the groups of built-in permissions. */
const builtIn: ReadonlySet<string> = new Set(Object.keys(permissionCatalogue));

function toApiResource({ version: _version, ...row }: ApiResourceRow): ApiResource {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}

const versioned = (row: ApiResourceRow): Versioned<ApiResource> => ({
  record: toApiResource(row),
  version: row.version,
});

function fieldsOf(row: ApiResourceRow): ApiResourceFields {
  const { id, created_at, updated_at, created_by_id, version, ...fields } = row;
  return fields;
}

const entryOf = (action: Entry['action'], id: string, change: Pick<Entry, 'before' | 'after'>): Entry => ({
  action,
  resourceType: 'api_resource',
  resourceId: id,
  ...change,
});

/** Returns one page of resources, sorted by name. */
export async function listApiResources(
  { db }: ApiResourceDeps,
  query: ApiResourceListQuery,
): Promise<{ data: ApiResource[]; pagination: Pagination }> {
  const [total, rows] = await Promise.all([countApiResources(db, query), listRows(db, query)]);
  return { data: rows.map(toApiResource), pagination: paginationOf(query, total) };
}

export async function getApiResource({ db }: ApiResourceDeps, id: string): Promise<Versioned<ApiResource>> {
  const row = await findApiResource(db, id);
  if (!row) throw new AppError('api_resource_not_found');
  return versioned(row);
}

/** Returns the fields with those of the body in place. Throws `validation_failed` (422), which names the field. */
function changedFields(
  before: ApiResourceFields,
  body: UpdateApiResourceBody,
  { publicUrl }: { publicUrl: string },
): ApiResourceFields {
  const { identifier, name, description, permission_group_ids: groups } = body;
  const { access_token_seconds = before.access_token_seconds, signing_alg = before.signing_alg } = body;
  return {
    ...before,
    access_token_seconds,
    signing_alg,
    ...(identifier === undefined ? {} : { identifier: cleanIdentifier(identifier, publicUrl) }),
    ...(name === undefined ? {} : { name: cleanName(name, MAX_NAME_LENGTH) }),
    ...(description === undefined ? {} : { description: cleanDescription(description) }),
    ...(groups === undefined
      ? {}
      : { permission_group_ids: [...new Set(groups.map((id) => id.toLowerCase()))].sort() }),
  };
}

/** Creates a resource. Throws 422, 404 (group), 409 (identifier). */
export async function createApiResource(
  deps: ApiResourceDeps,
  caller: Caller,
  body: CreateApiResourceBody,
  settle: Settle<Versioned<ApiResource>>,
): Promise<Versioned<ApiResource>> {
  const defaults: ApiResourceFields = {
    identifier: '',
    name: '',
    description: '',
    permission_group_ids: [],
    access_token_seconds: 300,
    signing_alg: 'RS256',
  };
  const fields = changedFields(defaults, body, deps.settings);
  requireNoId(fields.name);
  const id = newId();
  return change(
    deps,
    caller,
    async (locking) => {
      const { tx } = locking;
      const groups = await lockGroupNames(tx, fields.permission_group_ids);
      await lockSubjects(locking, {});
      const entitled = await locking.entitle();
      requireGroups(fields.permission_group_ids, groups);
      if (await hasIdentifier(tx, fields.identifier)) throw identifierTaken();
      await insertApiResource(entitled, { id, fields, created_by_id: authorIdOf(caller) });
      const entry = entryOf('api_resource_created', id, { before: null, after: fields });
      return entitled.done(versioned(await readApiResource(tx, id)), sameAccess, entry);
    },
    settle,
  );
}

/** Throws `permission_group_not_found`, and `validation_failed` for a group of built-in permissions. */
function requireGroups(ids: readonly string[], names: ReadonlyMap<string, string>): void {
  for (const [index, id] of ids.entries()) {
    const name = names.get(id);
    if (name === undefined) throw new AppError('permission_group_not_found');
    if (!builtIn.has(name)) continue;
    const message = `must not name ${name}, whose permissions are about Castellan`;
    const field = `permission_group_ids.${index}`;
    throw new AppError('validation_failed', {
      detail: `${field} ${message}.`,
      errors: [{ field, code: 'built_in', message }],
    });
  }
}

function identifierTaken(): AppError {
  const message = 'is already taken by another API resource';
  return new AppError('name_taken', {
    detail: `identifier ${message}.`,
    errors: [{ field: 'identifier', code: 'name_taken', message }],
  });
}

/** Locks the caller and the resource until the transaction ends. Throws, in order, 404, then 401 or 403. */
async function requireResource(
  locking: Locking,
  id: string,
  groupIds: readonly string[] = [],
): Promise<{ entitled: Entitled; resource: ApiResourceRow; groups: Map<string, string> }> {
  const groups = await lockGroupNames(locking.tx, groupIds);
  await lockSubjects(locking, {});
  if (!(await lockApiResource(locking.tx, id))) throw new AppError('api_resource_not_found');
  const entitled = await locking.entitle();
  return { entitled, resource: await readApiResource(locking.tx, id), groups };
}

/** Changes a resource. Writes nothing if every field already has its value. Throws 404, 412, 422, 409. */
export async function updateApiResource(
  deps: ApiResourceDeps,
  caller: Caller,
  id: string,
  body: UpdateApiResourceBody,
): Promise<Versioned<ApiResource>> {
  const row = await change(deps, caller, async (locking) => {
    const wanted = body.permission_group_ids?.map((one) => one.toLowerCase());
    const { entitled, resource, groups } = await requireResource(locking, id, wanted);
    await requireVersion(caller.ifMatch, resource.version, () => toApiResource(resource));
    const before = fieldsOf(resource);
    const after = changedFields(before, body, deps.settings);
    if (after.name !== before.name) requireNoId(after.name);
    if (wanted) requireGroups(after.permission_group_ids, groups);
    if (isDeepStrictEqual(after, before)) return entitled.unchanged(resource);
    if (after.identifier !== before.identifier && (await hasIdentifier(locking.tx, after.identifier)))
      throw identifierTaken();
    await updateRow(entitled, id, after);
    const entry = entryOf('api_resource_updated', id, { before, after });
    return entitled.done(await readApiResource(locking.tx, id), sameAccess, entry);
  });
  return versioned(row);
}

/** Deletes a resource. Returns the deleted record. Throws 404, 412, 409 while an application names it. */
export async function deleteApiResource(
  deps: ApiResourceDeps,
  caller: Caller,
  id: string,
): Promise<ApiResource> {
  const row = await change(deps, caller, async (locking) => {
    const { entitled, resource } = await requireResource(locking, id);
    await requireVersion(caller.ifMatch, resource.version, () => toApiResource(resource));
    if (await isUsedByApplication(locking.tx, id)) throw new AppError('api_resource_in_use');
    await deleteApiResourceRow(entitled, id);
    const entry = entryOf('api_resource_deleted', id, { before: fieldsOf(resource), after: null });
    return entitled.done(resource, sameAccess, entry);
  });
  return toApiResource(row);
}

// Rules of the catalogue of user attributes, and what other modules use of it.
// Who may write the values of a user is for the module of users to decide.
import { isDeepStrictEqual } from 'node:util';
import type { PageQuery, Pagination } from '@castellan/contract/common';
import {
  type CreateUserAttributeBody,
  MAX_ATTRIBUTES,
  type UpdateUserAttributeBody,
  type UserAttribute,
} from '@castellan/contract/user-attributes';
import { AppError } from '../../platform/errors.ts';
import type { Settle } from '../../platform/http/plugins/idempotency.ts';
import { requireVersion, type Versioned } from '../../platform/http/record-version.ts';
import { newId } from '../../platform/ids.ts';
import { paginationOf } from '../../platform/pages.ts';
import type { Tx } from '../../schema/database.ts';
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
import { changedDefinition, type Definition, newDefinition } from './definition.ts';
import {
  type AttributeRow,
  countAttributes,
  countLongerValues,
  countSharedValues,
  countValues,
  countValuesWithKeys,
  deleteAttribute,
  deleteValues,
  findAttribute,
  findAttributes,
  insertAttribute,
  listAttributes as listRows,
  lockCatalogue,
  setUnique,
  updateAttribute,
} from './store.ts';
import { keyOf } from './values.ts';

export { isReservedClaim } from './claim-names.ts';
export { invalid } from './definition.ts';
export { findAttributes, keepCatalogue } from './store.ts';
export { keyOf, valueFromText, visibleTo, type Writer } from './values.ts';
export { findClaimValues, findValues } from './values-store.ts';
export {
  attributePath,
  carryOutValues,
  changesValues,
  findConflicts,
  newValuesTold,
  type PlannedValues,
  planNewValues,
  planValues,
  uniqueOf,
} from './writing.ts';

export type UserAttributeDeps = ChangeDeps;

function toAttribute({ version: _version, ...row }: AttributeRow): UserAttribute {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}

const versioned = (row: AttributeRow): Versioned<UserAttribute> => ({
  record: toAttribute(row),
  version: row.version,
});

function definitionOf(row: AttributeRow): Definition {
  const { id, created_at, updated_at, created_by_id, version, ...definition } = row;
  return definition;
}

const entryOf = (
  action: Entry['action'],
  id: string,
  change: Pick<Entry, 'before' | 'after' | 'details'>,
): Entry => ({ action, resourceType: 'user_attribute', resourceId: id, ...change });

/** Returns one page of attributes, sorted by name. */
export async function listAttributes(
  { db }: UserAttributeDeps,
  query: PageQuery,
): Promise<{ data: UserAttribute[]; pagination: Pagination }> {
  const { total, rows } = await listRows(db, query);
  return { data: rows.map(toAttribute), pagination: paginationOf(query, total) };
}

export async function getAttribute({ db }: UserAttributeDeps, id: string): Promise<Versioned<UserAttribute>> {
  const row = await findAttribute(db, id);
  if (!row) throw new AppError('user_attribute_not_found');
  return versioned(row);
}

/** Locks the caller and the catalogue, and checks the caller. */
async function entitle(locking: Locking): Promise<Entitled> {
  await lockSubjects(locking, {});
  await lockCatalogue(locking.tx);
  return locking.entitle();
}

/** Reads an attribute that the transaction has locked or created. */
async function readAttribute(tx: Tx, id: string): Promise<AttributeRow> {
  const row = await findAttribute(tx, id);
  if (!row) throw new AppError('user_attribute_not_found');
  return row;
}

/** Declares an attribute. Throws 422, 409 (the name is taken, or there are as many as there can be). */
export async function createAttribute(
  deps: UserAttributeDeps,
  caller: Caller,
  body: CreateUserAttributeBody,
  settle: Settle<Versioned<UserAttribute>>,
): Promise<Versioned<UserAttribute>> {
  const definition = newDefinition(body);
  const id = newId();
  return change(
    deps,
    caller,
    async (locking) => {
      const { tx } = locking;
      const entitled = await entitle(locking);
      const isTaken = (await findAttributes(tx)).some(({ name }) => name === definition.name);
      if (isTaken)
        throw new AppError('name_taken', {
          detail: 'name is already taken by another attribute.',
          errors: [{ field: 'name', code: 'name_taken', message: 'is already taken by another attribute' }],
        });
      if ((await countAttributes(tx)) >= MAX_ATTRIBUTES) throw new AppError('too_many_user_attributes');
      await insertAttribute(entitled, { id, ...definition, created_by_id: authorIdOf(caller) });
      const entry = entryOf('user_attribute_created', id, { before: null, after: definition });
      return entitled.done(versioned(await readAttribute(tx, id)), sameAccess, entry);
    },
    settle,
  );
}

/** Changes an attribute. Writes nothing if every field already has its value. Throws 404, 412, 422, 409. */
export async function updateAttributeOf(
  deps: UserAttributeDeps,
  caller: Caller,
  id: string,
  body: UpdateUserAttributeBody,
): Promise<Versioned<UserAttribute>> {
  const row = await change(deps, caller, async (locking) => {
    const { tx } = locking;
    const entitled = await entitle(locking);
    const found = await readAttribute(tx, id);
    await requireVersion(caller.ifMatch, found.version, () => toAttribute(found));
    const before = definitionOf(found);
    const after = changedDefinition(before, body);
    if (isDeepStrictEqual(after, before)) return entitled.unchanged(found);
    await requireSuitsValues(tx, id, before, after);
    if (after.unique !== before.unique) await setUnique(entitled, id, after.unique);
    await updateAttribute(entitled, id, after);
    const entry = entryOf('user_attribute_updated', id, { before, after });
    return entitled.done(await readAttribute(tx, id), sameAccess, entry);
  });
  return versioned(row);
}

/** Throws `user_attribute_in_use` (409) if users have values that the attribute would no longer allow. */
async function requireSuitsValues(tx: Tx, id: string, before: Definition, after: Definition): Promise<void> {
  const gone = (before.values ?? []).filter((value) => !after.values?.includes(value));
  if (gone.length > 0)
    refuseFor(
      'values',
      await countValuesWithKeys(
        tx,
        id,
        gone.map((value) => keyOf(before, value)),
      ),
      'have one of the texts that you remove',
    );
  if (before.max_length !== null && after.max_length !== null && after.max_length < before.max_length)
    refuseFor('max_length', await countLongerValues(tx, id, after.max_length), 'have a longer value');
  if (after.unique && !before.unique)
    refuseFor('unique', await countSharedValues(tx, id), 'share their value with another one');
}

function refuseFor(field: string, users: number, what: string): void {
  if (users === 0) return;
  const message = `cannot be changed so: ${users} users ${what}`;
  throw new AppError('user_attribute_in_use', {
    detail: `${field} ${message}.`,
    errors: [{ field, code: 'in_use', message }],
    members: { users },
  });
}

/**
 * Deletes an attribute, and with `force` the values of users with it. Returns the deleted record. Throws 404, 412, 409 (users have
 * values).
 */
export async function deleteAttributeOf(
  deps: UserAttributeDeps,
  caller: Caller,
  { id, force }: { id: string; force: boolean },
): Promise<UserAttribute> {
  const row = await change(deps, caller, async (locking) => {
    const { tx } = locking;
    const entitled = await entitle(locking);
    const found = await readAttribute(tx, id);
    await requireVersion(caller.ifMatch, found.version, () => toAttribute(found));
    const users = await countValues(tx, id);
    if (users > 0 && !force) {
      const message = `${users === 1 ? '1 user has' : `${users} users have`} a value of this attribute`;
      throw new AppError('user_attribute_in_use', {
        detail: `${message}. Delete it with \`?force=true\` to remove these values.`,
        errors: [{ field: 'id', code: 'in_use', message }],
        members: { users },
      });
    }
    const values = users > 0 ? await deleteValues(entitled, id) : 0;
    await deleteAttribute(entitled, id);
    const entry = entryOf('user_attribute_deleted', id, {
      before: definitionOf(found),
      after: null,
      details: { values },
    });
    return entitled.done(found, sameAccess, entry);
  });
  return toAttribute(row);
}

// Reads and changes the values of attributes of one user, for administrators and for the user.
import type { AttributeValues, OwnAttribute } from '@castellan/contract/user-attributes';
import { requireVersion, type Versioned } from '../../../platform/http/record-version.ts';
import type { Db, Tx } from '../../../schema/database.ts';
import type { Caller, PersonCaller, UserCaller } from '../../authz/caller.ts';
import { change, type Done, type Entitled, type Locking } from '../../authz/change.ts';
import { sameAccess } from '../../authz/impact/impact.ts';
import {
  carryOutValues,
  changesValues,
  findAttributes,
  findConflicts,
  findValues,
  invalid,
  keepCatalogue,
  planValues,
  visibleTo,
  type Writer,
} from '../../user-attributes/service.ts';
import { requireMayActOn } from '../protection.ts';
import { readRecord, type UserDeps } from '../service.ts';
import { lockUser, touchUser } from '../store.ts';

/** Returns the values of a user. Their version is that of the user's record. Throws `user_not_found`. */
export async function getAttributes({ db }: UserDeps, id: string): Promise<Versioned<AttributeValues>> {
  const { version } = await readRecord(db, id);
  return { record: (await findValues(db, [id])).get(id) ?? {}, version };
}

/** Returns those of the caller's values that they may read. */
export async function getOwnAttributes(
  { db }: UserDeps,
  { principal: { id } }: PersonCaller,
): Promise<Versioned<AttributeValues>> {
  const { version } = await readRecord(db, id);
  return { record: await ownValues(db, id), version };
}

async function ownValues(db: Db | Tx, id: string): Promise<AttributeValues> {
  const values = (await findValues(db, [id])).get(id);
  if (!values) return {};
  const visible = new Set(visibleTo('self', await findAttributes(db)).map(({ name }) => name));
  return Object.fromEntries(Object.entries(values).filter(([name]) => visible.has(name)));
}

/** Returns what the attributes are that users read, by name. */
export const ownDefinitions = async ({ db }: UserDeps): Promise<OwnAttribute[]> =>
  visibleTo('self', await findAttributes(db)).map(
    ({ name, label, description, type, values, max_length, self }) => ({
      name,
      label,
      description,
      type,
      values,
      max_length,
      self,
    }),
  );

/** Changes values of a user for an administrator. Throws, in order, 401, 403, 404, 403, 412, 422, 409. */
export async function patchAttributes(
  deps: UserDeps,
  caller: Caller,
  id: string,
  patch: AttributeValues,
): Promise<Versioned<AttributeValues>> {
  return change(deps, caller, async (locking) => {
    const { entitled, user } = await requireMayActOn(locking, id);
    return patching(locking, entitled, { id, version: user.version, patch, writer: 'administrator' });
  });
}

/** Changes values of the caller, of attributes that users write. Throws 412, 422, 409. */
export async function patchOwnAttributes(
  deps: UserDeps,
  caller: UserCaller,
  patch: AttributeValues,
): Promise<Versioned<AttributeValues>> {
  const { id } = caller.principal;
  return change(deps, caller, async (locking) => {
    await lockUser(locking.tx, id);
    const entitled = await locking.entitle();
    const { version } = await readRecord(locking.tx, id);
    return patching(locking, entitled, { id, version, patch, writer: 'self' });
  });
}

type Patching = { id: string; version: number; patch: AttributeValues; writer: Writer };

async function patching(
  { tx, caller }: Locking,
  entitled: Entitled,
  { id, version, patch, writer }: Patching,
): Promise<Done<Versioned<AttributeValues>>> {
  await keepCatalogue(tx);
  const attributes = await findAttributes(tx);
  const before = (await findValues(tx, [id])).get(id) ?? {};
  const visible = new Set(visibleTo(writer, attributes).map(({ name }) => name));
  const shown = (values: AttributeValues): AttributeValues =>
    Object.fromEntries(Object.entries(values).filter(([name]) => visible.has(name)));
  await requireVersion(caller.ifMatch, version, () => shown(before));
  const at = (name: string): string => name || 'body';
  const { plan, errors } = planValues(attributes, { userId: id, before, patch, at }, writer);
  if (errors.length > 0) throw invalid(errors);
  if (!changesValues(plan)) return entitled.unchanged({ record: shown(before), version });
  const [conflict] = (await findConflicts(tx, [plan])).values();
  if (conflict) throw conflict;
  await carryOutValues(tx, [plan]);
  await touchUser(entitled, id);
  const now = await readRecord(tx, id);
  return entitled.done({ record: shown(plan.after), version: now.version }, sameAccess, {
    action: writer === 'self' ? 'user_profile_updated' : 'user_attributes_updated',
    resourceType: 'user',
    resourceId: id,
    before: { attributes: plan.changed.before },
    after: { attributes: plan.changed.after },
  });
}

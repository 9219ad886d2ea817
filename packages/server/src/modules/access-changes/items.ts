// Reads a request for many changes of access into items, one per record. It uses no database.
import type { AccessChange, ChangeAccessBody } from '@castellan/contract/access-changes';
import type { FieldError } from '@castellan/contract/envelope';
import type { Permission } from '@castellan/contract/permissions';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import { canonicalIds } from '../../platform/http/ids.ts';

/** The kinds of records: the lists of ids that each takes, and the permission that its own operation requires. */
const kinds = {
  role_id: { add: 'add_permission_ids', remove: 'remove_permission_ids', permission: 'role.update' },
  user_id: { add: 'add_role_ids', remove: 'remove_role_ids', permission: 'user.update' },
  service_account_id: {
    add: 'add_role_ids',
    remove: 'remove_role_ids',
    permission: 'service_account.update',
  },
} as const satisfies Record<string, { add: List; remove: List; permission: Permission }>;
type List = 'add_permission_ids' | 'remove_permission_ids' | 'add_role_ids' | 'remove_role_ids';
const lists: readonly List[] = [
  'add_permission_ids',
  'remove_permission_ids',
  'add_role_ids',
  'remove_role_ids',
];

/** The field that names the record of an item. */
export type Kind = keyof typeof kinds;
const allKinds: readonly Kind[] = ['role_id', 'user_id', 'service_account_id'];

/** The change of one record; canonical ids. */
export type Item = {
  kind: Kind;
  id: string;
  add: string[];
  remove: string[];
  version: number | undefined;
  /** The role is deleted after all other changes. */
  isDeletion: boolean;
  /** The field that names the record: `changes.3.user_id`. */
  field: string;
  /** Returns the path of another field of the item: `changes.3.version`. */
  at: (field: string) => string;
};

// A longer list would not help the caller.
const MAX_NAMED = 20;

/** Returns the items in the order of the request. Throws 422, naming every item that is wrong. */
export function readItems({ changes }: ChangeAccessBody): Item[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  const items = changes.flatMap((change, index) => {
    const at = (field: string): string => `changes.${index}.${field}`;
    const found = faultOf(change);
    const item = 'code' in found ? undefined : itemOf(change, found.kind, at);
    const fault = 'code' in found ? found : item && faultIn(item, change, seen);
    if (fault) errors.push({ ...fault, field: fault.field === '' ? `changes.${index}` : at(fault.field) });
    return item ?? [];
  });
  if (errors.length > 0)
    throw new AppError('validation_failed', {
      detail: `${errors
        .slice(0, MAX_NAMED)
        .map(({ field, message }) => `${field} ${message}`)
        .join('; ')}.`,
      errors: errors.slice(0, MAX_NAMED),
    });
  return items;
}

/** Returns the kind of the record, or why the item names none. */
function faultOf(change: AccessChange): { kind: Kind } | FieldError {
  const [kind, ...others] = allKinds.filter((one) => change[one] !== undefined);
  if (kind === undefined)
    return { field: '', code: 'required', message: `must have one of ${allKinds.join(', ')}` };
  if (others.length > 0) return { field: '', code: 'ambiguous', message: 'must name one record only' };
  return { kind };
}

function itemOf(change: AccessChange, kind: Kind, at: (field: string) => string): Item {
  const {
    role_id,
    user_id,
    service_account_id,
    add_permission_ids,
    remove_permission_ids,
    add_role_ids,
    remove_role_ids,
    version,
    delete: isDeletion = false,
    ...rest
  } = change;
  allHandled(rest);
  return {
    kind,
    id: (role_id ?? user_id ?? service_account_id ?? '').toLowerCase(),
    add: canonicalIds((kind === 'role_id' ? add_permission_ids : add_role_ids) ?? []),
    remove: canonicalIds((kind === 'role_id' ? remove_permission_ids : remove_role_ids) ?? []),
    version,
    isDeletion,
    field: at(kind),
    at,
  };
}

function faultIn(
  { kind, id, add, remove, isDeletion }: Item,
  change: AccessChange,
  seen: Set<string>,
): FieldError | undefined {
  const own: readonly List[] = [kinds[kind].add, kinds[kind].remove];
  const foreign = lists.find((list) => change[list] !== undefined && !own.includes(list));
  if (foreign) return { field: foreign, code: 'not_allowed', message: `does not belong to a ${kind}` };
  if (isDeletion && kind !== 'role_id')
    return { field: 'delete', code: 'not_allowed', message: `does not belong to a ${kind}` };
  if (seen.has(`${kind} ${id}`))
    return { field: kind, code: 'repeated', message: 'names a record that an earlier item names' };
  seen.add(`${kind} ${id}`);
  const removed = new Set(remove);
  if (!add.some((one) => removed.has(one))) return undefined;
  return { field: kinds[kind].add, code: 'ambiguous', message: `has ids that ${kinds[kind].remove} has too` };
}

export const itemsOf = (items: readonly Item[], kind: Kind): Item[] =>
  items.filter((item) => item.kind === kind);

/** Returns the permissions that the items require, besides that of the operation. */
export const permissionsFor = (items: readonly Item[]): Permission[] => [
  ...new Set(
    items.flatMap(({ kind, add, remove, isDeletion }): Permission[] => {
      if (!isDeletion) return [kinds[kind].permission];
      return add.length + remove.length > 0 ? [kinds[kind].permission, 'role.delete'] : ['role.delete'];
    }),
  ),
];

/** Returns the field of the item of a record, for errors that name ids. */
export function fieldsOf(items: readonly Item[]): (id: string) => string {
  const fields = new Map(items.map(({ id, field }) => [id, field]));
  return (id) => fields.get(id) ?? 'changes';
}

/**
 * Returns the path of a field for the code of the single operations, which names the record `id` and the assigned roles
 * `role_id`.
 */
export const pathsOf =
  ({ kind, add, field: own, at }: Item) =>
  (field: string): string => {
    if (field === 'id') return own;
    if (field !== 'role_id' || kind === 'role_id') return at(field);
    return at(add.length > 0 ? kinds[kind].add : kinds[kind].remove);
  };

/** Throws `precondition_failed` naming the items whose record has another version than the item. */
export function requireVersions(items: readonly Item[], versionOf: (item: Item) => number | undefined): void {
  const stale = items.filter((item) => item.version !== undefined && item.version !== versionOf(item));
  if (stale.length === 0) return;
  const named = stale.slice(0, MAX_NAMED);
  throw new AppError('precondition_failed', {
    detail: `Records have changed since you read them: ${named.map(({ field }) => field).join(', ')}. Read them again and retry.`,
    errors: named.map((item) => ({
      field: item.at('version'),
      code: 'precondition_failed',
      message: `is ${item.version}, and the record has version ${versionOf(item)}`,
    })),
  });
}

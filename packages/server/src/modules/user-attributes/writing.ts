// Plans and writes the values of users within a larger change. The caller has locked or created the rows of the users.
// It must not decide who may write.
import { isDeepStrictEqual } from 'node:util';
import type { FieldError } from '@castellan/contract/envelope';
import type { AttributeValues } from '@castellan/contract/user-attributes';
import { AppError } from '../../platform/errors.ts';
import type { Tx } from '../../schema/database.ts';
import { invalid } from './definition.ts';
import { findAttributes, keepCatalogue, lockCatalogue } from './store.ts';
import { type Attribute, keyOf, patchValues, type Writer } from './values.ts';
import { findTaken, removeValues, type WrittenValue, writeValues } from './values-store.ts';

/** Returns the path of an attribute in a body that has them in `attributes`; of all of them for an empty name. */
export const attributePath = (name: string): string => (name === '' ? 'attributes' : `attributes.${name}`);

/** What a request makes of the values of one user. `at`: returns the path of an attribute in the request. */
export type Wanted = {
  userId: string;
  before: AttributeValues;
  patch: AttributeValues;
  at: (name: string) => string;
};

export type PlannedValues = {
  userId: string;
  after: AttributeValues;
  written: WrittenValue[];
  removed: Attribute[];
  /** What changed, for the audit log: sensitive values are not in it. */
  changed: { before: AttributeValues; after: AttributeValues };
  at: (name: string) => string;
};

/** In place of a sensitive value. */
const HIDDEN = '…';
/** Maximum characters of a value in an audit entry, which cuts texts at 500: people change their own values as often as they like. */
const MAX_TOLD_LENGTH = 499;

/** Returns a value as audit entries have it: a long one as the beginning of its text. */
function shortened(value: AttributeValues[string] | undefined): AttributeValues[string] {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  return text.length > MAX_TOLD_LENGTH
    ? `${text.slice(0, MAX_TOLD_LENGTH).toWellFormed()}…`
    : (value ?? null);
}

/** Plans what a patch changes. Returns what is wrong with the patch instead, if anything. */
export function planValues(
  attributes: readonly Attribute[],
  { userId, before, patch, at }: Wanted,
  writer: Writer,
): { plan: PlannedValues; errors: FieldError[] } {
  const { values: after, errors } = patchValues(attributes, before, patch, { writer, at });
  const differing = attributes.filter(
    ({ name }) => name in patch && !isDeepStrictEqual(before[name], after[name]),
  );
  const written = differing.filter(({ name }) => Object.hasOwn(after, name));
  const shown = (values: AttributeValues): AttributeValues =>
    Object.fromEntries(
      differing.flatMap(({ name, sensitive }) =>
        Object.hasOwn(values, name) ? [[name, sensitive ? HIDDEN : shortened(values[name])]] : [],
      ),
    );
  return {
    plan: {
      userId,
      after,
      written: written.map((attribute) => ({
        userId,
        attribute,
        value: after[attribute.name],
        key: keyOf(attribute, after[attribute.name]),
      })),
      removed: differing.filter(({ name }) => !Object.hasOwn(after, name)),
      changed: { before: shown(before), after: shown(after) },
      at,
    },
    errors,
  };
}

/** Returns the values that no other user may have. */
export const uniqueOf = ({ written }: Pick<PlannedValues, 'written'>): WrittenValue[] =>
  written.filter(({ attribute }) => attribute.unique);

export const changesValues = ({ written, removed }: PlannedValues): boolean =>
  written.length + removed.length > 0;

/**
 * Returns which of the plans would give a user a unique value of another user, or of a user earlier in the list, with the refusal.
 * `earlier`: plans that came before, and were not written.
 */
export async function findConflicts(
  tx: Tx,
  plans: readonly PlannedValues[],
  earlier: readonly PlannedValues[] = [],
): Promise<Map<PlannedValues, AppError>> {
  const slot = (attributeId: string, key: string): string => `${attributeId} ${key}`;
  const holders = new Map(
    (
      await findTaken(
        tx,
        plans.flatMap(({ written }) => written),
      )
    ).map(({ attribute_id, key, user_id }) => [slot(attribute_id, key), user_id]),
  );
  for (const plan of earlier)
    for (const { attribute, key } of uniqueOf(plan))
      holders.set(slot(attribute.id, key.toString('hex')), plan.userId);
  const conflicts = new Map<PlannedValues, AppError>();
  for (const plan of plans) {
    const unique = uniqueOf(plan);
    const taken = unique.filter(
      ({ attribute, key }) =>
        (holders.get(slot(attribute.id, key.toString('hex'))) ?? plan.userId) !== plan.userId,
    );
    if (taken.length > 0)
      conflicts.set(
        plan,
        new AppError('user_attribute_taken', {
          errors: taken.map(({ attribute }) => ({
            field: plan.at(attribute.name),
            code: 'user_attribute_taken',
            message: 'belongs to another user',
          })),
        }),
      );
    else
      for (const { attribute, key } of unique)
        holders.set(slot(attribute.id, key.toString('hex')), plan.userId);
  }
  return conflicts;
}

/** The values that a new user shall have. `at`: returns the path of an attribute in the request. */
export type NewValues = Pick<Wanted, 'userId' | 'at'> & { attributes: AttributeValues };

/**
 * Plans the values of new users for an administrator, before they are inserted. Returns the plan or the refusal of each, by the id of the
 * user: 422 for a wrong value, 409 for a unique one that is taken. The catalogue stays as it is until the transaction ends.
 * `earlier`: as of `findConflicts`.
 */
export async function planNewValues(
  tx: Tx,
  wanted: readonly NewValues[],
  earlier: readonly PlannedValues[] = [],
): Promise<Map<string, PlannedValues | AppError>> {
  // Of several users, one that lost a race for a unique value would take the others with it: others wait instead.
  const areSeveral = wanted.filter(({ attributes }) => Object.keys(attributes).length > 0).length > 1;
  await (areSeveral ? lockCatalogue(tx) : keepCatalogue(tx));
  const declared = await findAttributes(tx);
  const planned = new Map<string, PlannedValues | AppError>();
  for (const { userId, attributes: patch, at } of wanted) {
    const { plan, errors } = planValues(declared, { userId, before: {}, patch, at }, 'administrator');
    planned.set(userId, errors.length > 0 ? invalid(errors) : plan);
  }
  const plans = [...planned.values()].flatMap((one) => (one instanceof AppError ? [] : [one]));
  for (const [plan, refusal] of await findConflicts(tx, plans, earlier)) planned.set(plan.userId, refusal);
  return planned;
}

/** Returns what an audit entry of a new user tells of its values. */
export const newValuesTold = ({ changed }: PlannedValues): { attributes?: AttributeValues } =>
  Object.keys(changed.after).length > 0 ? { attributes: changed.after } : {};

/** Writes planned values. The database decides races for a unique one: `user_attribute_taken` (409). */
export async function carryOutValues(tx: Tx, plans: readonly PlannedValues[]): Promise<void> {
  for (const { userId, removed } of plans) if (removed.length > 0) await removeValues(tx, userId, removed);
  await writeValues(
    tx,
    plans.flatMap(({ written }) => written),
  );
}

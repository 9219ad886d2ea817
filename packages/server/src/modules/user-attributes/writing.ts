// Plans and writes the values of users within a larger change. The caller has locked or created the rows of the users.
// It must not decide who may write.
import { isDeepStrictEqual } from 'node:util';
import type { FieldError } from '@castellan/contract/envelope';
import type { AttributeValues } from '@castellan/contract/user-attributes';
import { AppError } from '../../platform/errors.ts';
import type { Tx } from '../../schema/database.ts';
import { type Attribute, keyOf, patchValues, type Writer } from './values.ts';
import { findTaken, removeValues, type WrittenValue, writeValues } from './values-store.ts';

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
        Object.hasOwn(values, name) ? [[name, sensitive ? HIDDEN : values[name]]] : [],
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

export const changesValues = ({ written, removed }: PlannedValues): boolean =>
  written.length + removed.length > 0;

/**
 * Returns which of the plans would give a user a unique value of another user, or of a user earlier in the list, with the refusal.
 */
export async function findConflicts(
  tx: Tx,
  plans: readonly PlannedValues[],
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
  const conflicts = new Map<PlannedValues, AppError>();
  for (const plan of plans) {
    const unique = plan.written.filter(({ attribute }) => attribute.unique);
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

/** Writes planned values. The database decides races for a unique one: `user_attribute_taken` (409). */
export async function carryOutValues(tx: Tx, plans: readonly PlannedValues[]): Promise<void> {
  for (const { userId, removed } of plans) await removeValues(tx, userId, removed);
  await writeValues(
    tx,
    plans.flatMap(({ written }) => written),
  );
}

// What of a user has changed between two readings, as people read it.
import type { User } from '@castellan/sdk';
import type { ChangedField } from '../../../components/forms/ChangedMeanwhile.tsx';
import type { ComparedUserField } from '../../../data/form-fields.ts';
import { t } from '../../../text.ts';

const yesOrNo = (value: boolean): string => (value ? t.common.conflict.yes : t.common.conflict.no);

const shownOf = (user: User): ReadonlyMap<string, string> =>
  new Map(
    Object.values({
      first_name: [t.users.fields.first_name, user.first_name],
      last_name: [t.users.fields.last_name, user.last_name],
      email: [t.users.fields.email, user.email],
      external_id: [t.users.fields.external_id, user.external_id ?? ''],
      verified: [t.users.fields.verified, yesOrNo(user.verified)],
      must_change_password: [t.users.fields.must_change_password, yesOrNo(user.must_change_password)],
      is_active: [t.users.filters.activeOnly, yesOrNo(user.is_active)],
      is_superuser: [t.common.status.superuser, yesOrNo(user.is_superuser)],
      roles: [
        t.users.columns.roles,
        user.roles
          .map(({ name }) => name)
          .toSorted()
          .join(', '),
      ],
    } satisfies Record<ComparedUserField, readonly [label: string, text: string]>),
  );

/** Returns the fields that differ between the record as seen and as stored. */
export function changedFields(seen: User, stored: User): ChangedField[] {
  const now = shownOf(stored);
  return [...shownOf(seen)].flatMap(([label, value]) => {
    const current = now.get(label) ?? '';
    return current === value ? [] : [{ label, seen: value, stored: current }];
  });
}

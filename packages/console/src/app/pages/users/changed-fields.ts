// What of a user has changed between two readings, as people read it.
import type { User } from '@castellan/sdk';
import type { ChangedField } from '../../components/ChangedMeanwhile.tsx';
import { t } from '../../text.ts';

const yesOrNo = (value: boolean): string => (value ? t.common.conflict.yes : t.common.conflict.no);

const shownOf = (user: User): ReadonlyMap<string, string> =>
  new Map([
    [t.users.fields.first_name, user.first_name],
    [t.users.fields.last_name, user.last_name],
    [t.users.fields.email, user.email],
    [t.users.fields.verified, yesOrNo(user.verified)],
    [t.users.fields.must_change_password, yesOrNo(user.must_change_password)],
    [t.users.filters.activeOnly, yesOrNo(user.is_active)],
    [t.common.status.superuser, yesOrNo(user.is_superuser)],
    [
      t.users.columns.roles,
      user.roles
        .map(({ name }) => name)
        .toSorted()
        .join(', '),
    ],
  ]);

/** Returns the fields that differ between the record as seen and as stored. */
export function changedFields(seen: User, stored: User): ChangedField[] {
  const now = shownOf(stored);
  return [...shownOf(seen)].flatMap(([label, value]) => {
    const current = now.get(label) ?? '';
    return current === value ? [] : [{ label, seen: value, stored: current }];
  });
}

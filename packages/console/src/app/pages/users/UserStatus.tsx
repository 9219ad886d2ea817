// The status of a user. Users who have yet to accept an invitation are shown as invited, which says more than unverified; those who
// deleted their account, with the day on which they leave.
import type { User } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { formatDay } from '../../../common/format.ts';
import { type Status, StatusBadge, Tag } from '../../components/text/badges.tsx';
import { t } from '../../text.ts';

export const UserStatus = ({ of, status }: { of: User; status: Status }): ReactElement =>
  of.deletion_due_at !== null ? (
    <Tag tone="inactive">{t.users.leavesOn(formatDay(of.deletion_due_at))}</Tag>
  ) : of.invited_at !== null && status === 'unverified' ? (
    <Tag tone="unverified">{t.users.invitation.status}</Tag>
  ) : (
    <StatusBadge status={status} />
  );

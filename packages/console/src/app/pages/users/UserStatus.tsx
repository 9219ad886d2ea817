// The status of a user. Users who have yet to accept an invitation are shown as invited, which says more than unverified.
import type { User } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { type Status, StatusBadge, Tag } from '../../components/text/badges.tsx';
import { t } from '../../text.ts';

export const UserStatus = ({ of, status }: { of: User; status: Status }): ReactElement =>
  of.invited_at !== null && status === 'unverified' ? (
    <Tag tone="unverified">{t.users.invitation.status}</Tag>
  ) : (
    <StatusBadge status={status} />
  );

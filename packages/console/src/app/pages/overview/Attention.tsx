// What needs attention, each with the list of exactly these records.
import type { AttentionItem } from '@castellan/sdk';
import {
  IconCircleCheck,
  IconClockExclamation,
  IconFingerprintOff,
  IconKeyOff,
  IconLock,
  IconMailQuestion,
  IconShieldOff,
  IconUserOff,
  IconUserQuestion,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { ErrorAlert } from '../../components/page/states.tsx';
import { reading } from '../../data/api.ts';
import { t } from '../../text.ts';
import { targetOf } from './targets.ts';

const icons: Readonly<Record<AttentionItem['code'], typeof IconLock>> = {
  locked_users: IconLock,
  unverified_users_near_removal: IconClockExclamation,
  invitations_ended: IconMailQuestion,
  users_without_roles: IconUserQuestion,
  users_without_required_factor: IconFingerprintOff,
  permissions_without_roles: IconKeyOff,
  roles_without_holders: IconUserOff,
  roles_without_permissions: IconShieldOff,
};

/** While there is only the first administrator, roles that nobody has are the ones that the service came with: no finding. */
const isFinding = ({ code, count }: AttentionItem, users: number): boolean =>
  count > 0 && !(code === 'roles_without_holders' && users <= 1);

export function Attention({ users }: { users: number }): ReactElement {
  const attention = useQuery(reading('GET /api/v1/dashboard/attention', {}));
  const items = attention.data?.data.items.filter((item) => isFinding(item, users));
  return (
    <section aria-busy={attention.isPending}>
      <h2 className="section-title">{t.overview.attention.title}</h2>
      {attention.error && <ErrorAlert error={attention.error} onRetry={() => void attention.refetch()} />}
      {items?.length === 0 && (
        <p className="attention-none">
          <IconCircleCheck size={20} aria-hidden /> {t.overview.attention.none}
        </p>
      )}
      {items && items.length > 0 && (
        <ul className="attention">
          {items.map(({ code, count, count_is_estimate: isAtLeast, filter }) => {
            const Icon = icons[code];
            return (
              <li key={code}>
                <Link {...targetOf(filter)} className="attention-item">
                  <span className="attention-icon" aria-hidden>
                    <Icon size={18} />
                  </span>
                  <strong>{isAtLeast ? `${formatNumber(count)}+` : formatNumber(count)}</strong>
                  <span>{t.overview.attention.items[code](count)}</span>
                </Link>
              </li>
            );
          })}
        </ul>
      )}
    </section>
  );
}

// The numbers of the dashboard, each with a link to its list where the person may open it.
import type { DashboardStats } from '@castellan/sdk';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';

export function Counters({ stats }: { stats: DashboardStats }): ReactElement {
  const { can } = useMe();
  const seesUsers = can('user.read') || can('users.read');
  const counters = [
    { name: t.overview.counters.users, count: stats.total_users, to: '/users', mayOpen: seesUsers },
    {
      name: t.overview.counters.active,
      count: stats.active_users,
      to: '/users',
      mayOpen: seesUsers,
      isActive: true,
    },
    { name: t.overview.counters.roles, count: stats.total_roles, to: '/roles', mayOpen: can('role.read') },
    {
      name: t.overview.counters.permissions,
      count: stats.total_permissions,
      to: '/permissions',
      mayOpen: can('permission.read'),
    },
    {
      name: t.overview.counters.sessions,
      count: stats.active_sessions,
      to: '/sessions',
      mayOpen: can('session.read'),
    },
  ] as const;
  return (
    <ul className="counters" aria-label={t.overview.counters.label}>
      {counters.map((one) => {
        if (one.count === undefined) return null;
        const content = (
          <>
            <strong>{formatNumber(one.count)}</strong>
            <span>{one.name}</span>
          </>
        );
        return (
          <li key={one.name}>
            {one.mayOpen ? (
              <Link to={one.to} search={'isActive' in one ? { is_active: true } : {}} className="counter">
                {content}
              </Link>
            ) : (
              <span className="counter">{content}</span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

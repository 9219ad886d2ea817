// The first steps on an empty service. Whether a step is done is read from the service, not remembered here.
import { CloseButton } from '@mantine/core';
import { IconCircle, IconCircleCheckFilled } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { readPreference, writePreference } from '../../../common/preferences.ts';
import { reading } from '../../data/api.ts';
import { allRoleNames } from '../../data/catalogue.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';

const PREFERENCE = 'checklist';
const DISMISSED = 'dismissed';

/** Shows nothing once there are roles, permissions and people, or when it was dismissed in this browser. */
export function Checklist({ users }: { users: number }): ReactElement | null {
  const { user, can } = useMe();
  const [isDismissed, setDismissed] = useState(() => readPreference(PREFERENCE) === DISMISSED);
  const changes = useQuery({
    ...reading('GET /api/v1/audit-logs', {
      query: { action: ['password_changed'], actor_id: user.id, size: 1 },
    }),
    enabled: !isDismissed && can('audit_log.read'),
  });
  const roles = useQuery({
    ...allRoleNames,
    enabled: !isDismissed && can('role.read'),
  });
  const permissions = useQuery({
    ...reading('GET /api/v1/permissions', { query: { is_builtin: false, size: 1 } }),
    enabled: !isDismissed && can('permission.read'),
  });
  const isKnown = changes.data && roles.data && permissions.data;
  if (isDismissed || !isKnown) return null;
  const steps = [
    { name: 'password', to: '/account', isDone: changes.data.data.length > 0 },
    { name: 'permissions', to: '/permissions', isDone: permissions.data.pagination.total > 0 },
    // The roles of a new service were created by nobody.
    { name: 'role', to: '/roles', isDone: roles.data.some((role) => role.created_by_id !== null) },
    { name: 'people', to: '/users/new', isDone: users > 1 },
  ] as const;
  if (steps.every(({ name, isDone }) => isDone || name === 'password')) return null;
  const dismiss = (): void => {
    writePreference(PREFERENCE, DISMISSED);
    setDismissed(true);
  };
  return (
    <section className="panel checklist">
      <div className="panel-head">
        <div>
          <h2 className="section-title">{t.overview.checklist.title}</h2>
          <p className="muted">
            {t.overview.checklist.progress(steps.filter(({ isDone }) => isDone).length, steps.length)}
          </p>
        </div>
        <CloseButton aria-label={t.overview.checklist.dismiss} onClick={dismiss} />
      </div>
      <ol>
        {steps.map(({ name, to, isDone }) => {
          const Icon = isDone ? IconCircleCheckFilled : IconCircle;
          return (
            <li key={name} data-done={isDone || undefined}>
              <Icon size={22} aria-hidden />
              <span>
                <Link to={to} className="text-link">
                  {t.overview.checklist.steps[name].title}
                </Link>
                <span className="visually-hidden">
                  {' '}
                  {isDone ? t.overview.checklist.done : t.overview.checklist.open}
                </span>
                <span className="row-note">{t.overview.checklist.steps[name].text}</span>
              </span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

// The first steps on an empty service. Whether a step is done is read from the service. Only that all are done is remembered.
import { CloseButton } from '@mantine/core';
import { IconCircle, IconCircleCheckFilled } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactElement, useEffect, useState } from 'react';
import { readPreference, writePreference } from '../../../common/preferences.ts';
import { type ReadState, reading } from '../../data/api.ts';
import { allRoleNames } from '../../data/catalogue.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';

const PREFERENCE = 'checklist';
const DISMISSED = 'dismissed';

export type FirstSteps = Readonly<Record<'password' | 'permissions' | 'role', boolean>>;

/**
 * Returns which steps are done; undefined while they are read. Null for people who cannot do them, once there is nothing
 * left to do, when the list was dismissed in this browser, and if one of `reads` has failed.
 */
export function useFirstSteps(isAdministrator: boolean): {
  steps: FirstSteps | null | undefined;
  reads: readonly ReadState[];
} {
  const { user, can } = useMe();
  const [isOver] = useState(() => readPreference(PREFERENCE) !== null);
  const enabled =
    isAdministrator && !isOver && ['audit_log.read', 'role.read', 'permission.read'].every((one) => can(one));
  const changes = useQuery({
    ...reading('GET /api/v1/audit-logs', {
      query: { action: ['password_changed'], actor_id: user.id, size: 1 },
    }),
    enabled,
  });
  const roles = useQuery({ ...allRoleNames, enabled });
  const permissions = useQuery({
    ...reading('GET /api/v1/permissions', { query: { is_builtin: false, size: 1 } }),
    enabled,
  });
  const reads = [changes, roles, permissions];
  if (!enabled) return { steps: null, reads: [] };
  if (!reads.every(({ isFetched }) => isFetched)) return { steps: undefined, reads };
  if (!changes.data || !roles.data || !permissions.data) return { steps: null, reads };
  const steps = {
    password: changes.data.data.length > 0,
    permissions: permissions.data.pagination.total > 0,
    // The roles of a new service were created by nobody.
    role: roles.data.some((role) => role.created_by_id !== null),
  };
  return { steps, reads };
}

type Props = { steps: FirstSteps; users: number };

/** Shows nothing once there are roles, permissions and people. */
export function Checklist({ steps: done, users }: Props): ReactElement | null {
  const [isDismissed, setDismissed] = useState(false);
  const steps = [
    { name: 'password', to: '/account', isDone: done.password },
    { name: 'permissions', to: '/permissions', isDone: done.permissions },
    { name: 'role', to: '/roles', isDone: done.role },
    { name: 'people', to: '/users/new', isDone: users > 1 },
  ] as const;
  const isOver = steps.every(({ name, isDone }) => isDone || name === 'password');
  // From then on, nobody waits for what only the steps need.
  useEffect(() => {
    if (isOver) writePreference(PREFERENCE, DISMISSED);
  }, [isOver]);
  if (isDismissed || isOver) return null;
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

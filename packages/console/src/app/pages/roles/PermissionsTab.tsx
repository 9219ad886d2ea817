// The permissions of one role as a list of checkboxes by group. Nothing is saved before the review.
import type { Permission } from '@castellan/sdk';
import { SegmentedControl, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactElement, useMemo, useState } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { useTypedText } from '../../components/lists/debounce.ts';
import { Empty, ErrorAlert, NoMatch } from '../../components/page/states.tsx';
import { UnsavedChanges } from '../../components/role-changes/review.tsx';
import { useRoleChanges } from '../../components/role-changes/use-role-changes.ts';
import { allPermissions, type FullRole } from '../../data/catalogue.ts';
import { useMe } from '../../data/me.tsx';
import { filtered, sectionsOf } from '../../data/permissions/permission-sections.ts';
import { t } from '../../text.ts';

const route = getRouteApi('/roles/$id');

export function PermissionsTab({ role }: { role: FullRole }): ReactElement {
  const { can } = useMe();
  const canList = can('permission.read');
  const listed = useQuery({ ...allPermissions(), enabled: canList });
  const permissions: readonly Permission[] = canList ? (listed.data ?? role.permissions) : role.permissions;
  const given = useMemo(() => [role], [role]);
  const changes = useRoleChanges(given, permissions);
  const navigate = route.useNavigate();
  const { q: text = '' } = route.useSearch();
  const [typed, setText] = useTypedText(
    text,
    (q) => void navigate({ search: (now) => ({ ...now, q: q || undefined }), replace: true }),
  );
  const [view, setView] = useState<'all' | 'held'>(role.is_system || !canList ? 'held' : 'all');
  const missing = ['access.change', 'role.update'].find((one) => !can(one));
  const reason = role.is_system
    ? t.roles.page.systemPermissions
    : missing
      ? t.common.forbidden.reason(missing)
      : null;
  const held = changes.held.get(role.id) ?? new Set<string>();
  const markOf = (id: string) => changes.pending.get(id)?.get(role.id);
  const isOn = (id: string): boolean => (markOf(id) ? markOf(id) === 'add' : held.has(id));
  const sections = filtered(sectionsOf(permissions), text, undefined)
    .map((section) => ({
      ...section,
      shown: section.permissions.filter(({ id }) => view === 'all' || isOn(id) || markOf(id)),
    }))
    .filter(({ shown }) => shown.length > 0);
  return (
    <>
      <div className="filters">
        <TextInput
          className="grow"
          type="search"
          aria-label={t.roles.checklist.filter}
          placeholder={t.roles.checklist.filter}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={typed}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <SegmentedControl
          size="xs"
          aria-label={t.roles.filters.label}
          value={view}
          onChange={(value) => setView(value === 'held' ? 'held' : 'all')}
          data={[
            { value: 'all', label: t.roles.checklist.all },
            { value: 'held', label: t.roles.checklist.onlyHeld },
          ]}
        />
        <span className="muted">
          {t.roles.checklist.held(
            formatNumber(permissions.filter(({ id }) => isOn(id)).length),
            formatNumber(permissions.length),
          )}
        </span>
      </div>
      {reason && (
        <p className="muted">
          <span className="badge">{t.common.forbidden.readOnly}</span> {reason}
        </p>
      )}
      {listed.error && <ErrorAlert error={listed.error} onRetry={() => void listed.refetch()} />}
      {sections.length === 0 &&
        (text === '' ? <Empty title={t.roles.checklist.none} /> : <NoMatch onClear={() => setText('')} />)}
      <div className="checklist">
        {sections.map(({ id, name, permissions: all, shown }) => (
          <fieldset key={id} className="panel">
            <legend>
              {name}{' '}
              <span className="muted">
                {t.matrix.of(
                  formatNumber(all.filter((one) => isOn(one.id)).length),
                  formatNumber(all.length),
                )}
              </span>
            </legend>
            {shown.map((permission) => (
              <label key={permission.id} data-mark={markOf(permission.id)}>
                <input
                  type="checkbox"
                  checked={isOn(permission.id)}
                  disabled={reason !== null}
                  onChange={() => changes.flip({ roleId: role.id, permissionId: permission.id })}
                />
                <span>
                  <span className="mono">{permission.name}</span>
                  {markOf(permission.id) && (
                    <span className="visually-hidden"> {t.roles.checklist.unsaved}</span>
                  )}
                  {permission.description && <span className="row-note">{permission.description}</span>}
                </span>
              </label>
            ))}
          </fieldset>
        ))}
      </div>
      <UnsavedChanges changes={changes} />
    </>
  );
}

// Two roles side by side: what only one of them has. Cells are copied across and saved like those of the matrix.
import { Button, SegmentedControl } from '@mantine/core';
import { IconArrowLeft } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactElement, useMemo, useState } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { Empty, ReadErrors } from '../../components/page/states.tsx';
import { UnsavedChanges } from '../../components/role-changes/review.tsx';
import { type RoleChanges, useRoleChanges } from '../../components/role-changes/use-role-changes.ts';
import { Skeletons } from '../../components/table/Skeletons.tsx';
import { type CountedRole, useFullRole } from '../../data/catalogue.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';

const route = getRouteApi('/roles');
const SKELETON_ROWS = 8;

export function Compare({ one, other }: { one: string; other: string }): ReactElement | null {
  const { can } = useMe();
  const navigate = route.useNavigate();
  const reads = [useFullRole(one), useFullRole(other)];
  const [a, b] = reads.map(({ role }) => role);
  const pair = useMemo(() => (a && b ? [a, b] : []), [a, b]);
  const permissions = useMemo(
    () =>
      [
        ...new Map(
          pair.flatMap((role) => role.permissions).map((permission) => [permission.id, permission]),
        ).values(),
      ].toSorted((a, b) => a.name.localeCompare(b.name)),
    [pair],
  );
  const changes = useRoleChanges(pair, permissions);
  const [first, second] = changes.roles;
  const back = (
    <Button
      variant="subtle"
      size="compact-sm"
      leftSection={<IconArrowLeft size={16} aria-hidden className="mirrored" />}
      onClick={() => void navigate({ search: ({ compare: _compare, ...now }) => now })}
    >
      {t.roles.page.breadcrumb}
    </Button>
  );
  if (one === other || reads.some(({ isMissing }) => isMissing))
    return <Empty title={t.roles.compare.missing} action={back} />;
  const unread = reads.filter(({ role }) => !role).map(({ query }) => query);
  if (unread.some(({ error }) => error)) return <ReadErrors of={unread} />;
  if (!first || !second) return <Skeletons label={t.roles.compare.paneLabel} count={SKELETON_ROWS} />;
  const missing = ['access.change', 'role.update'].find((name) => !can(name)) ?? null;
  return (
    <section className="compare" aria-label={t.roles.compare.paneLabel}>
      <div className="filters">{back}</div>
      {missing && (
        <p className="muted">
          <span className="badge">{t.common.forbidden.readOnly}</span> {t.common.forbidden.reason(missing)}
        </p>
      )}
      <CompareTable changes={changes} first={first} second={second} isReadOnly={missing !== null} />
      <UnsavedChanges changes={changes} />
    </section>
  );
}

type TableProps = { changes: RoleChanges; first: CountedRole; second: CountedRole; isReadOnly: boolean };

function CompareTable({ changes, first, second, isReadOnly }: TableProps): ReactElement {
  const { held, pending, permissions, flip } = changes;
  const [view, setView] = useState<'different' | 'all'>('different');
  const has = (role: CountedRole, id: string): boolean => held.get(role.id)?.has(id) ?? false;
  const different = permissions.filter(({ id }) => has(first, id) !== has(second, id));
  const shown = view === 'different' ? different : permissions;
  return (
    <>
      <div className="filters compare-head">
        <p className="muted">
          {t.roles.compare.counts(
            formatNumber(different.length),
            formatNumber(permissions.length - different.length),
          )}
        </p>
        <SegmentedControl
          size="xs"
          aria-label={t.roles.filters.label}
          value={view}
          onChange={(value) => setView(value === 'all' ? 'all' : 'different')}
          data={[
            { value: 'different', label: t.roles.compare.onlyDifferent },
            { value: 'all', label: t.roles.compare.everything },
          ]}
        />
      </div>
      {shown.length === 0 ? (
        <Empty title={t.roles.compare.same} />
      ) : (
        <div className="table-card">
          <table className="compare-table">
            <thead>
              <tr>
                <th scope="col">{t.matrix.permission}</th>
                {[first, second].map((role) => (
                  <th key={role.id} scope="col">
                    <Link to="/roles/$id" params={{ id: role.id }}>
                      {role.name}
                    </Link>
                    {role.is_system && <span className="row-note">{t.roles.page.systemPermissions}</span>}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map(({ id, name }) => (
                <tr key={id} data-different={has(first, id) !== has(second, id) || undefined}>
                  <th scope="row" className="mono">
                    {name}
                  </th>
                  {[first, second].map((role) => {
                    const mark = pending.get(id)?.get(role.id);
                    const isOn = mark ? mark === 'add' : has(role, id);
                    return (
                      <td key={role.id} data-mark={mark}>
                        <input
                          type="checkbox"
                          aria-label={
                            mark ? t.matrix.unsavedCell(role.name, name) : t.matrix.cell(role.name, name)
                          }
                          checked={isOn}
                          disabled={isReadOnly || role.is_system}
                          onChange={() => flip({ roleId: role.id, permissionId: id })}
                        />
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

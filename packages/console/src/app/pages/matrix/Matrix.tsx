// The page Permission matrix: which role has which permission, to be changed cell by cell and saved at once.
import type { Permission } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { IconDownload, IconGridDots } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useMemo, useRef, useState } from 'react';
import { saveFile } from '../../components/lists/csv.ts';
import { announce } from '../../components/page/announce.ts';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { Empty, ErrorAlert, NoMatch } from '../../components/page/states.tsx';
import { UnsavedChanges } from '../../components/role-changes/review.tsx';
import { useRoleChanges } from '../../components/role-changes/use-role-changes.ts';
import { allPermissions, allRoles, type FullRole, fullRoles } from '../../data/catalogue.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { type Created, useFocusOnColumn, useFocusOnRow } from './created-focus.ts';
import { csvOf } from './csv.ts';
import { FilterBar } from './FilterBar.tsx';
import { Grid } from './Grid.tsx';
import { NewMenu } from './NewMenu.tsx';
import { useSections } from './use-sections.ts';
import './matrix.css';

const route = getRouteApi('/matrix');
const noPermissions: readonly Permission[] = [];

// Loaded when they are first opened.
const RoleDialog = lazy(() =>
  import('../../components/roles/RoleDialog.tsx').then((module) => ({ default: module.RoleDialog })),
);
const PermissionDialog = lazy(() =>
  import('../../components/permissions/PermissionDialog.tsx').then((module) => ({
    default: module.PermissionDialog,
  })),
);

/** Permissions that the person may not list are known from the roles. */
const permissionsIn = (roles: readonly FullRole[]): Permission[] =>
  [...new Map(roles.flatMap(({ permissions }) => permissions).map((one) => [one.id, one])).values()].toSorted(
    (a, b) => a.name.localeCompare(b.name),
  );

export function Matrix(): ReactElement {
  const { can } = useMe();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const canList = can('permission.read');
  const listed = useQuery({ ...allPermissions(), enabled: canList });
  const summaries = useQuery({ ...allRoles, enabled: canList });
  const full = useQuery({ ...fullRoles, enabled: !canList });
  const roles = canList ? summaries : full;
  const isLoading = roles.data === undefined || (canList && listed.data === undefined);
  const permissions = useMemo(() => {
    if (isLoading) return noPermissions;
    return canList ? (listed.data ?? noPermissions) : permissionsIn(full.data ?? []);
  }, [isLoading, canList, listed.data, full.data]);
  const changes = useRoleChanges(roles.data, permissions);
  const columns = useMemo(
    () => changes.roles.filter((role) => search.roles !== 'custom' || !role.is_system),
    [changes.roles, search.roles],
  );
  const sections = useSections(permissions, columns.length, search);
  const [dialog, setDialog] = useState<'role' | 'permission' | null>(null);
  const [created, setCreated] = useState<Created>({});
  const region = useRef<HTMLElement>(null);
  useFocusOnColumn(region, created.roleId ?? null, columns);
  const isThere = permissions.some(({ id }) => id === created.permission?.id);
  useFocusOnRow(region, isThere ? created : {}, (f) =>
    navigate({ search: ({ group: _group, ...now }) => ({ ...now, f }), replace: true }),
  );
  const missing = ['access.change', 'role.update'].find((one) => !can(one)) ?? null;
  const reason = missing && t.common.forbidden.reason(missing);
  const error = roles.error ?? listed.error;
  const clear = (): void =>
    void navigate({ search: ({ f: _f, group: _group, ...now }) => now, replace: true });
  const hasRows = permissions.length > 0;
  return (
    <>
      <PageHeader
        title={t.matrix.title}
        note={
          <>
            {isLoading ? (
              <span className="waiting">{t.matrix.size(USUAL_ROLES, USUAL_PERMISSIONS)}</span>
            ) : (
              t.matrix.size(columns.length, permissions.length)
            )}
            {missing && <span className="badge"> {t.common.forbidden.readOnly}</span>}
          </>
        }
        actions={
          <>
            <Button
              variant="default"
              leftSection={<IconDownload size={16} aria-hidden />}
              disabled={isLoading}
              onClick={() => {
                const shown = sections.shown.flatMap((section) => section.permissions);
                saveFile(t.matrix.file, csvOf(changes.held, columns, shown));
              }}
            >
              {t.common.actions.exportCsv}
            </Button>
            <NewMenu
              canRole={can('role.create')}
              canPermission={can('permission.create')}
              onOpen={setDialog}
            />
          </>
        }
      />
      {reason && <p className="muted">{reason}</p>}
      {error && (
        <ErrorAlert error={error} onRetry={() => void Promise.all([roles.refetch(), listed.refetch()])} />
      )}
      {(isLoading ? !error : hasRows) && (
        <FilterBar
          sections={sections.all}
          isAnyOpen={sections.shown.some(sections.isOpen)}
          onToggleAll={sections.toggleAll}
        />
      )}
      {isLoading && !error && <MatrixSkeleton />}
      {hasRows && sections.shown.length === 0 && <NoMatch onClear={clear} />}
      {hasRows && sections.shown.length > 0 && (
        <>
          <p id="matrix-help" className="visually-hidden">
            {t.matrix.help}
          </p>
          <section className="matrix-region" aria-label={t.matrix.region} ref={region}>
            <Grid
              columns={columns}
              sections={sections.shown}
              held={changes.held}
              pending={changes.pending}
              total={permissions.length}
              isOpen={sections.isOpen}
              onToggle={sections.toggle}
              onFlip={changes.flip}
              onLocked={() => announce(reason ?? t.matrix.locked)}
              onOpenRole={(id) => void navigate({ to: '/roles/$id', params: { id } })}
              isReadOnly={missing !== null}
            />
          </section>
        </>
      )}
      {!isLoading && !hasRows && (
        <Empty
          icon={<IconGridDots size={32} aria-hidden />}
          title={t.matrix.emptyTitle}
          text={t.matrix.emptyText}
        />
      )}
      <UnsavedChanges changes={changes} />
      <Suspense>
        {dialog === 'role' && (
          <RoleDialog
            onClose={() => setDialog(null)}
            onCreated={({ id }) => {
              setDialog(null);
              setCreated({ roleId: id });
            }}
          />
        )}
        {dialog === 'permission' && (
          <PermissionDialog
            groupId={search.group}
            onClose={() => setDialog(null)}
            onCreated={({ id, name }) => {
              setDialog(null);
              setCreated((now) => ({ ...now, permission: { id, name } }));
            }}
          />
        )}
      </Suspense>
    </>
  );
}

const SKELETON_ROWS = 14;
/** The numbers in the heading, invisible until they are known, take as many lines as these. */
const USUAL_ROLES = 20;
const USUAL_PERMISSIONS = 100;

function MatrixSkeleton(): ReactElement {
  return (
    <div className="table-card skeletons" role="status" aria-busy="true" aria-label={t.common.list.loading}>
      {Array.from({ length: SKELETON_ROWS }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the grey rows are all the same
        <i key={index} />
      ))}
    </div>
  );
}

// The page Permission matrix: which role has which permission, to be changed cell by cell and saved at once.
import type { Permission } from '@castellan/sdk';
import { Button, Menu, NativeSelect, SegmentedControl, TextInput } from '@mantine/core';
import { IconChevronDown, IconDownload, IconGridDots, IconPlus, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import {
  type ReactElement,
  startTransition,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { announce } from '../../components/announce.ts';
import { saveFile, toCsv } from '../../components/csv.ts';
import { useTypedText } from '../../components/debounce.ts';
import { PageHeader } from '../../components/PageHeader.tsx';
import { UnsavedChanges } from '../../components/role-changes/review.tsx';
import { useRoleChanges } from '../../components/role-changes/use-role-changes.ts';
import { Empty, ErrorAlert, NoMatch } from '../../components/states.tsx';
import { allPermissions, allRoles, type CountedRole } from '../../data/catalogue.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { PermissionDialog } from '../permissions/PermissionDialog.tsx';
import { RoleDialog } from '../roles/RoleDialog.tsx';
import { Grid } from './Grid.tsx';
import { beginClosed, filtered, type Section, sectionsOf } from './groups.ts';
import './matrix.css';

const route = getRouteApi('/matrix');
const noPermissions: readonly Permission[] = [];

/** Permissions that the person may not list are known from the roles. */
const permissionsIn = (roles: readonly CountedRole[]): Permission[] =>
  [...new Map(roles.flatMap(({ permissions }) => permissions).map((one) => [one.id, one])).values()].toSorted(
    (a, b) => a.name.localeCompare(b.name),
  );

export function Matrix(): ReactElement {
  const { can } = useMe();
  const search = route.useSearch();
  const roles = useQuery(allRoles);
  const canList = can('permission.read');
  const listed = useQuery({ ...allPermissions(), enabled: canList });
  const permissions = useMemo(
    () => (canList ? (listed.data ?? noPermissions) : permissionsIn(roles.data ?? [])),
    [canList, listed.data, roles.data],
  );
  const changes = useRoleChanges(roles.data, permissions);
  const [dialog, setDialog] = useState<'role' | 'permission' | null>(null);
  const [created, setCreated] = useState<Created>({});
  const missing = ['access.change', 'role.update'].find((one) => !can(one)) ?? null;
  const isLoading = roles.data === undefined || (canList && listed.data === undefined);
  const error = roles.error ?? listed.error;
  const shown = useMemo(
    () => changes.roles.filter((role) => search.roles !== 'custom' || !role.is_system),
    [changes.roles, search.roles],
  );
  return (
    <>
      <PageHeader
        title={t.matrix.title}
        note={
          <>
            {!isLoading && t.matrix.size(shown.length, permissions.length)}
            {missing && <span className="badge"> {t.common.forbidden.readOnly}</span>}
          </>
        }
        actions={
          <>
            <Button
              variant="default"
              leftSection={<IconDownload size={16} aria-hidden />}
              disabled={isLoading}
              onClick={() =>
                saveFile(t.matrix.file, csvOf(changes.held, shown, visibleOf(permissions, search)))
              }
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
      {missing && <p className="muted">{t.common.forbidden.reason(missing)}</p>}
      {error && (
        <ErrorAlert error={error} onRetry={() => void Promise.all([roles.refetch(), listed.refetch()])} />
      )}
      {isLoading && !error && <MatrixSkeleton />}
      {!isLoading && permissions.length > 0 && (
        <Body
          changes={changes}
          columns={shown}
          isReadOnly={missing !== null}
          lockedReason={missing === null ? t.matrix.locked : t.common.forbidden.reason(missing)}
          created={created}
        />
      )}
      {!isLoading && permissions.length === 0 && (
        <Empty
          icon={<IconGridDots size={32} aria-hidden />}
          title={t.matrix.emptyTitle}
          text={t.matrix.emptyText}
        />
      )}
      <UnsavedChanges changes={changes} />
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
    </>
  );
}

type Search = { f?: string | undefined; group?: string | undefined };

const visibleOf = (permissions: readonly Permission[], { f = '', group }: Search) =>
  filtered(sectionsOf(permissions), f, group).flatMap((section) => section.permissions);

function csvOf(
  held: ReadonlyMap<string, ReadonlySet<string>>,
  columns: readonly CountedRole[],
  permissions: readonly Permission[],
): string {
  return toCsv([
    ['permission', ...columns.map(({ name }) => name)],
    ...permissions.map(({ id, name }) => [
      name,
      ...columns.map((role) => (held.get(role.id)?.has(id) ? 'x' : '')),
    ]),
  ]);
}

type NewMenuProps = {
  canRole: boolean;
  canPermission: boolean;
  onOpen: (dialog: 'role' | 'permission') => void;
};

function NewMenu({ canRole, canPermission, onOpen }: NewMenuProps): ReactElement {
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Button
          leftSection={<IconPlus size={16} aria-hidden />}
          rightSection={<IconChevronDown size={14} aria-hidden />}
        >
          {t.common.actions.create}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item disabled={!canRole} onClick={() => onOpen('role')}>
          {t.matrix.newRole}
          {!canRole && <span className="menu-reason">{t.common.forbidden.reason('role.create')}</span>}
        </Menu.Item>
        <Menu.Item disabled={!canPermission} onClick={() => onOpen('permission')}>
          {t.matrix.newPermission}
          {!canPermission && (
            <span className="menu-reason">{t.common.forbidden.reason('permission.create')}</span>
          )}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** The newest role and permission that were created here: each takes the focus when it shows. */
type Created = { roleId?: string; permission?: { id: string; name: string } };

type BodyProps = {
  changes: ReturnType<typeof useRoleChanges>;
  columns: readonly CountedRole[];
  isReadOnly: boolean;
  lockedReason: string;
  created: Created;
};

function Body({ changes, columns, isReadOnly, lockedReason, created }: BodyProps): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [typed, setTyped] = useTypedText(
    search.f ?? '',
    (f) => void navigate({ search: (now) => ({ ...now, f: f || undefined }), replace: true }),
  );
  const sections = useMemo(() => sectionsOf(changes.permissions), [changes.permissions]);
  const filter = useDeferredValue(search.f ?? '');
  const shown = useMemo(() => filtered(sections, filter, search.group), [sections, filter, search.group]);
  const closed = beginClosed(
    shown.reduce((sum, one) => sum + one.permissions.length, 0),
    columns.length,
    filter !== '',
  );
  // Groups whose state is not the one that they begin with.
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const isOpen = ({ id }: Section): boolean => toggled.has(id) === closed;
  const toggle = ({ id }: Section): void =>
    setToggled((now) => {
      const next = new Set(now);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  const toAll = (open: boolean): void =>
    startTransition(() => setToggled(open === closed ? new Set(sections.map(({ id }) => id)) : new Set()));
  const clear = (): void =>
    void navigate({ search: ({ f: _f, group: _group, ...now }) => now, replace: true });
  const region = useRef<HTMLElement>(null);
  useFocusOnColumn(region, created.roleId ?? null, columns);
  const isThere = changes.permissions.some(({ id }) => id === created.permission?.id);
  useFocusOnRow(region, isThere ? created : {}, (f) =>
    navigate({ search: ({ group: _group, ...now }) => ({ ...now, f }), replace: true }),
  );
  return (
    <>
      <div className="filters">
        <TextInput
          className="grow"
          type="search"
          aria-label={t.matrix.filter}
          placeholder={t.matrix.filter}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <NativeSelect
          aria-label={t.matrix.group}
          value={search.group ?? ''}
          onChange={({ currentTarget: { value } }) =>
            void navigate({ search: (now) => ({ ...now, group: value || undefined }), replace: true })
          }
          data={[
            { value: '', label: t.matrix.allGroups },
            ...sections.map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
        <SegmentedControl
          size="xs"
          aria-label={t.matrix.shown}
          value={search.roles ?? 'all'}
          onChange={(value) =>
            void navigate({
              search: (now) => ({ ...now, roles: value === 'custom' ? 'custom' : undefined }),
              replace: true,
            })
          }
          data={[
            { value: 'all', label: t.matrix.all },
            { value: 'custom', label: t.matrix.custom },
          ]}
        />
        <Button variant="subtle" size="compact-sm" onClick={() => toAll(!shown.some(isOpen))}>
          {shown.some(isOpen) ? t.matrix.collapseAll : t.matrix.expandAll}
        </Button>
      </div>
      <p id="matrix-help" className="visually-hidden">
        {t.matrix.help}
      </p>
      {shown.length === 0 ? (
        <NoMatch onClear={clear} />
      ) : (
        <section className="matrix-region" aria-label={t.matrix.region} ref={region}>
          <Grid
            columns={columns}
            sections={shown}
            held={changes.held}
            pending={changes.pending}
            total={changes.permissions.length}
            isOpen={isOpen}
            onToggle={toggle}
            onFlip={changes.flip}
            onLocked={() => announce(lockedReason)}
            onOpenRole={(id) => void navigate({ to: '/roles/$id', params: { id } })}
            isReadOnly={isReadOnly}
          />
        </section>
      )}
    </>
  );
}

/** Focuses the head of a role's column as soon as the column is there, once. */
function useFocusOnColumn(
  region: { current: HTMLElement | null },
  roleId: string | null,
  columns: readonly CountedRole[],
): void {
  const done = useRef<string | null>(null);
  useEffect(() => {
    if (roleId === null || done.current === roleId || !columns.some(({ id }) => id === roleId)) return;
    done.current = roleId;
    const head = region.current?.querySelector<HTMLElement>(`thead [data-role="${roleId}"]`);
    head?.scrollIntoView({ block: 'nearest', inline: 'center' });
    head?.focus({ preventScroll: true });
  }, [region, roleId, columns]);
}

/** Focuses a cell of the permission once it is there; finds it by its name first where the filters hide it. */
function useFocusOnRow(
  region: { current: HTMLElement | null },
  { roleId, permission }: Created,
  find: (name: string) => Promise<void>,
): void {
  const done = useRef<string | null>(null);
  const found = useRef<string | null>(null);
  // The row may appear with any render.
  useEffect(() => {
    if (permission === undefined || done.current === permission.id) return;
    const cells = [
      ...(region.current?.querySelectorAll<HTMLElement>(`tbody [data-permission="${permission.id}"]`) ?? []),
    ];
    const cell =
      cells.find(({ dataset }) => dataset.role === roleId) ??
      cells.find(({ ariaDisabled }) => ariaDisabled !== 'true') ??
      cells[0];
    if (cell) {
      done.current = permission.id;
      cell.scrollIntoView({ block: 'center', inline: 'nearest' });
      cell.focus({ preventScroll: true });
    } else if (found.current !== permission.id) {
      found.current = permission.id;
      void find(permission.name);
    }
  });
}

const SKELETON_ROWS = 14;

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

// The page Permissions: groups as a tree at the left, the permissions of the chosen group beside it.
import { IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { ReasonButton } from '../../components/forms/ReasonButton.tsx';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { usePageActions } from '../../components/page/page-actions.ts';
import { ErrorAlert } from '../../components/page/states.tsx';
import { allPermissionGroups } from '../../data/catalogue.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { GroupTree } from './GroupTree.tsx';
import { PermissionFilters } from './PermissionFilters.tsx';
import { PermissionList } from './PermissionList.tsx';
import { usePermissionList } from './permission-list.ts';
import './permissions.css';

const route = getRouteApi('/permissions');
const PermissionDialog = lazy(() =>
  import('../../components/permissions/PermissionDialog.tsx').then((module) => ({
    default: module.PermissionDialog,
  })),
);
const PermissionPane = lazy(() =>
  import('./PermissionPane.tsx').then((module) => ({ default: module.PermissionPane })),
);

/** So that the tree fills its place on a phone, too. */
const skeletonRows = ['a', 'b', 'c', 'd', 'e'];

export function Permissions(): ReactElement {
  const { can } = useMe();
  const navigate = route.useNavigate();
  const search = route.useSearch();
  const [isCreating, setIsCreating] = useState(false);
  const groups = useQuery({ ...allPermissionGroups, enabled: can('permission_group.read') });
  const list = usePermissionList();
  const createReason = can('permission.create') ? null : t.common.forbidden.reason('permission.create');
  usePageActions(
    createReason === null ? [{ label: t.permissions.newPermission, run: () => setIsCreating(true) }] : [],
  );
  const open = list.all?.find(({ id }) => id === search.permission);
  const hasTree = groups.data !== undefined || groups.isLoading;
  return (
    <>
      <PageHeader
        title={t.permissions.title}
        note={list.all ? t.permissions.count(list.all.length) : null}
        actions={
          <ReasonButton
            leftSection={<IconPlus size={16} aria-hidden />}
            reason={createReason}
            onClick={() => setIsCreating(true)}
          >
            {t.permissions.newPermission}
          </ReasonButton>
        }
      />
      {groups.error && <ErrorAlert error={groups.error} onRetry={() => void groups.refetch()} />}
      <PermissionFilters />
      <div className={hasTree ? 'groups-layout permissions-layout' : undefined}>
        {groups.data && <GroupTree groups={groups.data} />}
        {groups.isLoading && (
          <div className="tree-panel">
            <div className="skeletons" role="status" aria-busy="true" aria-label={t.permissions.groups}>
              {skeletonRows.map((key) => (
                <i key={key} />
              ))}
            </div>
          </div>
        )}
        <PermissionList
          list={list}
          groups={groups.data ?? []}
          onCreate={createReason === null ? setIsCreating : null}
        />
      </div>
      <Suspense>
        {open && (
          <PermissionPane
            permission={open}
            onClose={() => navigate({ search: ({ permission: _permission, tab: _tab, ...now }) => now })}
          />
        )}
        {isCreating && (
          <PermissionDialog
            groupId={search.group}
            onClose={() => setIsCreating(false)}
            onCreated={({ id }) => {
              setIsCreating(false);
              void navigate({ search: (now) => ({ ...now, permission: id }) });
            }}
          />
        )}
      </Suspense>
    </>
  );
}

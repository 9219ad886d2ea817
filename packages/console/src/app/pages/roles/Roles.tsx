// The page Roles: the list, and the comparison of two roles.
import { IconPlus } from '@tabler/icons-react';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { ReasonButton } from '../../components/forms/ReasonButton.tsx';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { usePageActions } from '../../components/page/page-actions.ts';
import { RoleDialog } from '../../components/roles/RoleDialog.tsx';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { Compare } from './Compare.tsx';
import { RoleList, type RoleListDialog } from './RoleList.tsx';
import './roles.css';

const route = getRouteApi('/roles');
const DeleteRoleDialog = lazy(() =>
  import('./deletion/DeleteRoleDialog.tsx').then((module) => ({ default: module.DeleteRoleDialog })),
);

export function Roles(): ReactElement {
  const { can } = useMe();
  const navigate = route.useNavigate();
  const { compare } = route.useSearch();
  const [dialog, setDialog] = useState<RoleListDialog | null>(null);
  const mayCreate = can('role.create');
  const [one, other] = compare?.split(',') ?? [];
  usePageActions(mayCreate ? [{ label: t.roles.newRole, run: () => setDialog({ kind: 'create' }) }] : []);
  return (
    <>
      <PageHeader
        title={t.roles.title}
        actions={
          <ReasonButton
            leftSection={<IconPlus size={16} aria-hidden />}
            reason={mayCreate ? null : t.common.forbidden.reason('role.create')}
            onClick={() => setDialog({ kind: 'create' })}
          >
            {t.roles.newRole}
          </ReasonButton>
        }
      />
      {one && other ? (
        <Compare one={one} other={other} />
      ) : (
        <RoleList onDialog={setDialog} mayCreate={mayCreate} />
      )}
      {dialog && dialog.kind !== 'delete' && (
        <RoleDialog
          {...(dialog.kind === 'clone' ? { original: dialog.role } : {})}
          onClose={() => setDialog(null)}
          onCreated={({ id }) => void navigate({ to: '/roles/$id', params: { id } })}
        />
      )}
      <Suspense>
        {dialog?.kind === 'delete' && (
          <DeleteRoleDialog
            role={dialog.role}
            onClose={() => setDialog(null)}
            onDeleted={() => setDialog(null)}
          />
        )}
      </Suspense>
    </>
  );
}

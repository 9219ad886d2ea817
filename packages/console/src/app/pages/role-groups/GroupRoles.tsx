// The roles of a role group, which are added and removed here, and below them those of its child groups.
import type { RoleGroup } from '@castellan/sdk';
import { ActionIcon } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useEffect, useRef, useState } from 'react';
import { ReasonButton } from '../../components/forms/ReasonButton.tsx';
import { notifyFailure, notifyUndo } from '../../components/page/notify.tsx';
import { Tag } from '../../components/text/badges.tsx';
import { useWrite } from '../../data/api.ts';
import { removeRole } from '../../data/roles-of-group.ts';
import { t } from '../../text.ts';

const AddRolesDialog = lazy(() =>
  import('./AddRolesDialog.tsx').then((module) => ({ default: module.AddRolesDialog })),
);

type NestedRole = { role: RoleGroup['roles'][number]; path: string };

const nestedRoles = ({ children }: RoleGroup, above: readonly string[] = []): NestedRole[] =>
  children.flatMap((child) => {
    const path = [...above, child.name];
    return [...child.roles.map((role) => ({ role, path: path.join(' / ') })), ...nestedRoles(child, path)];
  });

/** `reason`: why the person may not change them; null if they may. */
export function GroupRoles({ group, reason }: { group: RoleGroup; reason: string | null }): ReactElement {
  const [isAdding, setIsAdding] = useState(false);
  const nested = nestedRoles(group);
  return (
    <>
      <div className="group-head">
        <h3>{t.roleGroups.own}</h3>
        <ReasonButton
          variant="default"
          leftSection={<IconPlus size={16} aria-hidden />}
          reason={reason}
          onClick={() => setIsAdding(true)}
        >
          {t.roleGroups.add}
        </ReasonButton>
      </div>
      <OwnRoles group={group} canRemove={reason === null} />
      {nested.length > 0 && (
        <>
          <h3>{t.roleGroups.nested}</h3>
          <ul className="group-roles">
            {nested.map(({ role, path }) => (
              <li key={`${role.id} ${path}`}>
                <Link to="/roles/$id" params={{ id: role.id }}>
                  {role.name}
                </Link>
                <span className="muted">{t.roleGroups.from(path)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {isAdding && (
        <Suspense>
          <AddRolesDialog group={group} onClose={() => setIsAdding(false)} />
        </Suspense>
      )}
    </>
  );
}

/** After a removal, the focus goes to the next role, or to the list once it is empty. */
function OwnRoles({ group, canRemove }: { group: RoleGroup; canRemove: boolean }): ReactElement {
  const list = useRef<HTMLDivElement>(null);
  const removed = useRef<{ id: string; at: number } | null>(null);
  const removal = useWrite(
    ({ id }: { id: string; name: string }) => removeRole(group.id, id),
    (undo, { id, name }) => {
      removed.current = { id, at: group.roles.findIndex((role) => role.id === id) };
      notifyUndo(t.roleGroups.removed(name, group.name), undo);
    },
  );
  useEffect(() => {
    if (removal.error) notifyFailure(removal.error);
  }, [removal.error]);
  useEffect(() => {
    const gone = removed.current;
    if (!gone || group.roles.some(({ id }) => id === gone.id)) return;
    removed.current = null;
    const buttons = [...(list.current?.querySelectorAll('button') ?? [])];
    (buttons[Math.min(gone.at, buttons.length - 1)] ?? list.current)?.focus();
  }, [group.roles]);
  return (
    <div ref={list} tabIndex={-1} className="group-roles-box">
      {group.roles.length === 0 && <p className="muted">{t.roleGroups.noRoles}</p>}
      <ul className="group-roles">
        {group.roles.map((role) => (
          <li key={role.id}>
            <span>
              <Link to="/roles/$id" params={{ id: role.id }}>
                {role.name}
              </Link>{' '}
              {role.is_system && <Tag>{t.common.status.system}</Tag>}
              {role.description && <span className="row-note">{role.description}</span>}
            </span>
            {canRemove && (
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={t.roleGroups.removeRole(role.name, group.name)}
                onClick={() => {
                  if (!removal.isPending) removal.run(role);
                }}
              >
                <IconX size={16} aria-hidden />
              </ActionIcon>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

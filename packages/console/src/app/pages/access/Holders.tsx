// "Who can do it?": everybody who holds a permission, and through which roles.

import { Switch } from '@mantine/core';
import { IconUsersGroup } from '@tabler/icons-react';
import { type ReactElement, useState } from 'react';
import { Empty } from '../../components/page/states.tsx';
import { HolderList } from '../../components/permissions/HolderList.tsx';
import { PermissionPicker } from '../../components/permissions/PermissionPicker.tsx';
import { usePermissionNames } from '../../data/permissions/permission-names.ts';
import { t } from '../../text.ts';

type Props = {
  permission: string | undefined;
  onChange: (part: { permission?: string | undefined }) => void;
};

export function Holders({ permission, onChange }: Props): ReactElement {
  const [withSuperusers, setWithSuperusers] = useState(true);
  const { permissions, mayRead } = usePermissionNames();
  const wanted = permission?.toLocaleLowerCase();
  const found = permissions?.find(({ name }) => name.toLocaleLowerCase() === wanted);
  return (
    <>
      <div className="access-question">
        <PermissionPicker value={permission} onChange={(name) => onChange({ permission: name })} />
        <Switch
          label={t.access.holders.superusers}
          checked={withSuperusers}
          onChange={(event) => setWithSuperusers(event.currentTarget.checked)}
        />
      </div>
      {!mayRead && <p className="muted">{t.common.forbidden.reason('permission.read')}</p>}
      {!permission && (
        <Empty
          icon={<IconUsersGroup size={32} aria-hidden />}
          title={t.access.holders.ask}
          text={t.access.holders.askHelp}
        />
      )}
      {permission && mayRead && permissions && !found && (
        <Empty title={t.access.reasons.unknown_permission} text={permission} />
      )}
      {found && <HolderList id={found.id} name={found.name} withSuperusers={withSuperusers} />}
    </>
  );
}

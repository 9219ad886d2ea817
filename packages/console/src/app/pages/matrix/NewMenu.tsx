// The menu that creates a role or a permission.
import { Button, Menu } from '@mantine/core';
import { IconChevronDown, IconPlus } from '@tabler/icons-react';
import type { ReactElement } from 'react';
import { ReasonItem } from '../../components/forms/ReasonItem.tsx';
import { t } from '../../text.ts';

type Props = {
  canRole: boolean;
  canPermission: boolean;
  onOpen: (dialog: 'role' | 'permission') => void;
};

export function NewMenu({ canRole, canPermission, onOpen }: Props): ReactElement {
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
        <ReasonItem
          reason={canRole ? null : t.common.forbidden.reason('role.create')}
          onClick={() => onOpen('role')}
        >
          {t.matrix.newRole}
        </ReasonItem>
        <ReasonItem
          reason={canPermission ? null : t.common.forbidden.reason('permission.create')}
          onClick={() => onOpen('permission')}
        >
          {t.matrix.newPermission}
        </ReasonItem>
      </Menu.Dropdown>
    </Menu>
  );
}

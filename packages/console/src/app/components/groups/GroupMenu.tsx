// The menu of a group: what can be done with it. What cannot says why.
import { ActionIcon, Menu } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import type { ReactElement } from 'react';
import { t } from '../../text.ts';
import { ReasonItem } from '../forms/ReasonItem.tsx';

export type GroupAction = {
  label: string;
  icon: typeof IconDots;
  /** Why it cannot be done; null if it can. */
  reason: string | null;
  run: () => void;
};

export function GroupMenu({
  name,
  actions,
}: {
  name: string;
  actions: readonly GroupAction[];
}): ReactElement {
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label={t.common.actions.moreOf(name)}>
          <IconDots size={18} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {actions.map(({ label, icon: Icon, reason, run }) => (
          <ReasonItem key={label} leftSection={<Icon size={16} aria-hidden />} reason={reason} onClick={run}>
            {label}
          </ReasonItem>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

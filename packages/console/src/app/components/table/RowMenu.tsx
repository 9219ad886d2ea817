// The menu of a row.
import { ActionIcon, Menu } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import type { ReactElement } from 'react';
import { t } from '../../text.ts';
import { ReasonItem } from '../forms/ReasonItem.tsx';
import type { RowAction } from './types.ts';

type MenuProps = { name: string; actions: RowAction[] | null; closeMenu: () => void };

/** A plain button until it is opened: a menu component per row would cost most of the time of a long list. */
export function RowMenu({ name, actions, closeMenu }: MenuProps): ReactElement {
  const button = <ActionIconLike label={t.common.actions.moreOf(name)} isOpen={actions !== null} />;
  if (!actions) return button;
  return (
    <Menu opened onClose={closeMenu} position="bottom-end" withinPortal returnFocus>
      <Menu.Target>{button}</Menu.Target>
      <Menu.Dropdown>
        {actions.map(({ label, icon, isDangerous, disabledReason, run }) => (
          <ReasonItem
            key={label}
            leftSection={icon}
            isDangerous={isDangerous}
            reason={disabledReason || null}
            onClick={run}
          >
            {label}
          </ReasonItem>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

type ActionIconLikeProps = { label: string; isOpen: boolean };

function ActionIconLike({ label, isOpen, ...rest }: ActionIconLikeProps): ReactElement {
  if (isOpen)
    return (
      <ActionIcon variant="subtle" color="gray" aria-label={label} data-menu {...rest}>
        <IconDots size={18} aria-hidden />
      </ActionIcon>
    );
  return (
    <button type="button" className="icon-button" aria-label={label} aria-haspopup="menu" data-menu>
      <IconDots size={18} aria-hidden />
    </button>
  );
}

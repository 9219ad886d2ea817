// An entry of a menu that says why it cannot be used. The arrow keys reach it all the same, unlike a disabled one.
import { Menu } from '@mantine/core';
import type { ReactElement, ReactNode } from 'react';

type Props = {
  /** Why it cannot be used; null if it can. */
  reason: string | null;
  onClick: () => void;
  isDangerous?: boolean | undefined;
  leftSection?: ReactNode;
  children: ReactNode;
};

export function ReasonItem({ reason, onClick, isDangerous, leftSection, children }: Props): ReactElement {
  if (reason === null)
    return (
      <Menu.Item onClick={onClick} leftSection={leftSection} {...(isDangerous ? { color: 'red' } : {})}>
        {children}
      </Menu.Item>
    );
  return (
    <Menu.Item aria-disabled closeMenuOnClick={false} leftSection={leftSection} className="menu-item-off">
      {children}
      <span className="menu-reason">{reason}</span>
    </Menu.Item>
  );
}

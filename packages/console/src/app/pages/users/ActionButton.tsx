// A button that stays in reach of the keyboard when its act is not possible, and says why.
import { Button, Tooltip } from '@mantine/core';
import type { ReactElement, ReactNode } from 'react';

type Props = {
  /** Null: possible. */
  reason: string | null;
  icon?: ReactNode;
  isDangerous?: boolean;
  onClick: () => void;
  children: ReactNode;
};

export function ActionButton({ reason, icon, isDangerous, onClick, children }: Props): ReactElement {
  return (
    <Tooltip label={reason ?? ''} disabled={reason === null} withinPortal>
      <Button
        variant="default"
        size="xs"
        leftSection={icon}
        {...(reason === null ? {} : { 'aria-disabled': true, 'data-disabled': true })}
        className={isDangerous && reason === null ? 'danger-text' : ''}
        onClick={() => {
          if (reason === null) onClick();
        }}
      >
        {children}
        {reason && <span className="visually-hidden"> ({reason})</span>}
      </Button>
    </Tooltip>
  );
}

// A button that says why it cannot be used. It stays reachable by keyboard, unlike a disabled one.
import { Button, Tooltip } from '@mantine/core';
import type { ReactElement, ReactNode } from 'react';

type Props = {
  /** Why it cannot be used; null if it can. */
  reason: string | null;
  onClick: () => void;
  variant?: string;
  color?: string;
  leftSection?: ReactNode;
  children: ReactNode;
};

export function ReasonButton({ reason, onClick, variant = 'filled', ...rest }: Props): ReactElement {
  if (reason === null) return <Button variant={variant} onClick={onClick} {...rest} />;
  return (
    <Tooltip label={reason}>
      <Button variant={variant} aria-disabled aria-description={reason} data-disabled {...rest} />
    </Tooltip>
  );
}

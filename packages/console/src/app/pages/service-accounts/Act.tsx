// A small button for an action that may need a permission.
import { Button, Tooltip } from '@mantine/core';
import type { ReactElement } from 'react';
import { t } from '../../text.ts';

type ActProps = { label: string; missing: string | null; isPending?: boolean; onClick: () => void };

/** Without the permission, the button stays reachable and says what is missing. */
export function Act({ label, missing, isPending = false, onClick }: ActProps): ReactElement {
  if (!missing)
    return (
      <Button variant="default" size="xs" loading={isPending} onClick={onClick}>
        {label}
      </Button>
    );
  return (
    <Tooltip label={t.common.forbidden.reason(missing)}>
      <Button
        variant="default"
        size="xs"
        data-disabled
        aria-disabled
        onClick={(event) => event.preventDefault()}
      >
        {label}
      </Button>
    </Tooltip>
  );
}

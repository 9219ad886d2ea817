// What shows when a page itself fails: never a blank page.
import { Button } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactElement } from 'react';
import { t } from '../../text.ts';
import { Empty } from './states.tsx';

/** A page that was replaced by a newer version of the service fails to load its file; a reload gets the new one. */
export const PageError = (): ReactElement => (
  <div role="alert">
    <Empty
      icon={<IconAlertTriangle size={32} aria-hidden />}
      title={t.common.errors.pageFailed}
      text={t.common.errors.pageFailedHelp}
      action={<Button onClick={() => location.reload()}>{t.common.errors.reload}</Button>}
    />
  </div>
);

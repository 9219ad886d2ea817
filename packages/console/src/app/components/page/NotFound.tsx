// An address that no page has.
import { Button } from '@mantine/core';
import { IconMapOff } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { t } from '../../text.ts';
import { Empty } from './states.tsx';

export const NotFound = (): ReactElement => (
  <Empty
    icon={<IconMapOff size={32} aria-hidden />}
    title={t.common.errors.notFound}
    text={t.common.errors.notFoundHelp}
    action={
      <Button component={Link} to="/overview">
        {t.common.errors.toOverview}
      </Button>
    }
  />
);

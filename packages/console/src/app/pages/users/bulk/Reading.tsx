// Progress of reading or writing many users.
import { Progress, Stack } from '@mantine/core';
import type { ReactElement } from 'react';
import { formatNumber } from '../../../../common/format.ts';
import { t } from '../../../text.ts';

export const Reading = ({ read, expected }: { read: number; expected: number }): ReactElement => (
  <Stack gap="xs">
    <p role="status">{t.users.bulk.reading(formatNumber(read), formatNumber(expected))}</p>
    <Progress value={(100 * read) / Math.max(1, expected)} aria-label={t.common.list.loading} />
  </Stack>
);

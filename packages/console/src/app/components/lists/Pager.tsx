// Pages of a list: which page, how many rows, how many results.
import { ActionIcon, NativeSelect } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { type ReactElement, useEffect } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { writePreference } from '../../../common/preferences.ts';
import { pageSizes } from '../../page-size.ts';
import { t } from '../../text.ts';
import { announce } from '../page/announce.ts';

type Props = {
  page: number;
  size: number;
  total: number;
  /** There may be more than `total`. Default: false. */
  isAtLeast?: boolean;
  onPage: (page: number) => void;
  onSize: (size: number) => void;
};

/** Announces the number of results whenever it changes. */
export function Pager({ page, size, total, isAtLeast = false, onPage, onSize }: Props): ReactElement {
  const pages = Math.max(1, Math.ceil(total / size));
  const results = isAtLeast ? t.common.list.resultsAtLeast(total) : t.common.list.results(total);
  useEffect(() => announce(results), [results]);
  return (
    <nav className="pager" aria-label={t.common.list.page(formatNumber(page), formatNumber(pages))}>
      <span className="muted">{results}</span>
      <NativeSelect
        size="xs"
        aria-label={t.common.list.pageSize}
        data={pageSizes.map(String)}
        value={String(size)}
        onChange={(event) => {
          writePreference('pageSize', event.currentTarget.value);
          onSize(Number(event.currentTarget.value));
        }}
      />
      <ActionIcon
        variant="default"
        aria-label={t.common.actions.previous}
        disabled={page <= 1}
        onClick={() => onPage(page - 1)}
      >
        <IconChevronLeft size={16} aria-hidden className="mirrored" />
      </ActionIcon>
      <span aria-hidden>{t.common.list.page(formatNumber(page), formatNumber(pages))}</span>
      <ActionIcon
        variant="default"
        aria-label={t.common.actions.next}
        disabled={page >= pages}
        onClick={() => onPage(page + 1)}
      >
        <IconChevronRight size={16} aria-hidden className="mirrored" />
      </ActionIcon>
    </nav>
  );
}

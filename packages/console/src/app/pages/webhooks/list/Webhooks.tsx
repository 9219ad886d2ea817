// The list of webhooks: whether each works, and what waits for it.
import type { Webhook } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { IconPlus, IconWebhook } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { PageHeader } from '../../../components/page/PageHeader.tsx';
import { usePageActions } from '../../../components/page/page-actions.ts';
import { Empty, ReadErrors } from '../../../components/page/states.tsx';
import { type Column, DataTable } from '../../../components/table/DataTable.tsx';
import { PlainAgo } from '../../../components/text/time.tsx';
import { useMe } from '../../../data/me.tsx';
import { useWebhooks } from '../../../data/webhooks/webhooks.ts';
import { later, t } from '../../../text.ts';
import { countText } from '../counts.ts';
import { missingFor } from '../permissions.ts';
import { Status } from '../Status.tsx';
import '../webhooks.css';

const titleColumn = (): Column<Webhook> => ({
  key: 'name',
  header: later.webhooks.fields.name,
  cell: ({ name, url }) => (
    <span className="webhook-title">
      <span className="row-name" data-raw>
        {name}
      </span>
      <span className="row-note mono">{url}</span>
    </span>
  ),
});

const otherColumns = (): Column<Webhook>[] => [
  {
    key: 'status',
    header: later.webhooks.columns.status,
    cell: (webhook) => (
      <span className="webhook-state">
        <Status webhook={webhook} />
        {webhook.paused_reason && (
          <span className="row-note">{later.webhooks.pausedReasons[webhook.paused_reason]}</span>
        )}
      </span>
    ),
  },
  {
    key: 'waiting',
    header: later.webhooks.columns.waiting,
    cell: ({ waiting }) => countText(waiting),
    align: 'end',
  },
  {
    key: 'oldest',
    header: later.webhooks.columns.oldest,
    cell: ({ oldest_waiting_at }) => <PlainAgo at={oldest_waiting_at} />,
  },
  {
    key: 'dead',
    header: later.webhooks.columns.dead,
    cell: ({ dead }) => countText(dead),
    align: 'end',
  },
  {
    key: 'success',
    header: later.webhooks.columns.success,
    cell: ({ last_success_at }) => <PlainAgo at={last_success_at} />,
  },
];

export function Webhooks(): ReactElement {
  const texts = later.webhooks;
  const { can } = useMe();
  const navigate = useNavigate();
  const list = useWebhooks();
  const [title] = useState(titleColumn);
  const [columns] = useState(otherColumns);
  const missing = missingFor(can, 'webhook.create', 'audit_log.read');
  const create = (): void => void navigate({ to: '/webhooks/new' });
  usePageActions(missing === null ? [{ label: texts.create, run: create }] : []);
  const rows = list.data?.data;
  const isEmpty = rows?.length === 0;
  return (
    <>
      <PageHeader
        title={t.common.nav.webhooks}
        note={rows ? texts.count(rows.length) : null}
        actions={
          <ReasonButton
            leftSection={<IconPlus size={16} aria-hidden />}
            reason={missing && t.common.forbidden.reason(missing)}
            onClick={create}
          >
            {texts.create}
          </ReasonButton>
        }
      />
      <ReadErrors of={[list]} />
      {isEmpty && (
        <Empty
          icon={<IconWebhook size={32} aria-hidden />}
          title={texts.empty}
          text={texts.emptyText}
          action={missing === null && <Button onClick={create}>{texts.create}</Button>}
        />
      )}
      {!isEmpty && (rows || !list.error) && (
        <DataTable
          label={t.common.nav.webhooks}
          rows={rows}
          title={title}
          columns={columns}
          nameOf={({ name }) => name}
          onOpen={(id) => void navigate({ to: '/webhooks/$id', params: { id } })}
          skeletonRows={4}
        />
      )}
    </>
  );
}

// What was sent to a webhook, what waits and what was given up, newest first. The pane shows one of them.
import type { Webhook, WebhookDelivery } from '@castellan/sdk';
import { Button, NativeSelect, Select, TextInput } from '@mantine/core';
import { IconSend } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useMemo, useState, useSyncExternalStore } from 'react';
import { currentZone, formatNumber, subscribeZone } from '../../../../common/format.ts';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { FilterFold } from '../../../components/lists/FilterFold.tsx';
import { Empty, NoMatch, ReadErrors } from '../../../components/page/states.tsx';
import { type Column, DataTable } from '../../../components/table/DataTable.tsx';
import { PlainAgo } from '../../../components/text/time.tsx';
import { useMe } from '../../../data/me.tsx';
import { deliveryStates, useDeliveries } from '../../../data/webhooks/deliveries.ts';
import { eventCatalogue } from '../../../data/webhooks/webhooks.ts';
import { later, t } from '../../../text.ts';
import { causeText } from '../causes.ts';
import { missingFor } from '../permissions.ts';
import { DeliveryState } from './DeliveryState.tsx';
import { type DeliverySearch, isFiltered, toFilter } from './filter.ts';

const DeliveryPane = lazy(() =>
  import('./DeliveryPane.tsx').then((file) => ({ default: file.DeliveryPane })),
);
const ReplayDialog = lazy(() =>
  import('./ReplayDialog.tsx').then((file) => ({ default: file.ReplayDialog })),
);

const route = getRouteApi('/webhooks/$id');

const titleColumn = (): Column<WebhookDelivery> => ({
  key: 'type',
  header: later.webhooks.deliveries.columns.event,
  cell: ({ type, id, replay }) => (
    <span className="webhook-title">
      <span className="row-name mono">{type}</span>
      <span className="row-note">
        {later.webhooks.deliveries.number(id)}
        {replay && ` · ${later.webhooks.deliveries.replayed}`}
      </span>
    </span>
  ),
});

const otherColumns = (): Column<WebhookDelivery>[] => [
  {
    key: 'state',
    header: later.webhooks.columns.status,
    cell: ({ state }) => <DeliveryState state={state} />,
  },
  {
    key: 'answer',
    header: later.webhooks.deliveries.columns.answer,
    cell: ({ status, cause, attempt_count }) =>
      attempt_count === 0 ? (
        <span className="muted">–</span>
      ) : (
        <span>{cause === null ? formatNumber(status ?? 0) : causeText(cause, status)}</span>
      ),
  },
  {
    key: 'attempts',
    header: later.webhooks.deliveries.columns.attempts,
    cell: ({ attempt_count }) => formatNumber(attempt_count),
    align: 'end',
    isWideOnly: true,
  },
  {
    key: 'created',
    header: later.webhooks.deliveries.columns.queued,
    cell: ({ created_at }) => <PlainAgo at={created_at} />,
  },
];

export function DeliveriesTab({ webhook }: { webhook: Webhook }): ReactElement {
  const texts = later.webhooks.deliveries;
  const { can } = useMe();
  const zone = useSyncExternalStore(subscribeZone, currentZone);
  const navigate = route.useNavigate();
  const search = route.useSearch();
  const filter = useMemo(() => toFilter(search, zone), [search, zone]);
  const { query, deliveries } = useDeliveries(webhook.id, filter);
  const [title] = useState(titleColumn);
  const [columns] = useState(otherColumns);
  const [isReplaying, setReplaying] = useState(false);
  const missing = missingFor(can, 'webhook.update');
  const isEmpty = deliveries?.length === 0;
  const change = (part: DeliverySearch): void =>
    void navigate({ search: (now) => ({ ...now, ...part, delivery: undefined }), replace: true });
  const clear = (): void => change({ state: undefined, type: undefined, from: undefined, to: undefined });
  const open = (delivery: string | undefined): void =>
    void navigate({
      search: (now) => ({ ...now, delivery: now.delivery === delivery ? undefined : delivery }),
      resetScroll: false,
    });
  return (
    <div className="deliveries">
      <div className="webhook-line">
        <p className="muted">{texts.text}</p>
        <ReasonButton
          variant="default"
          reason={missing && t.common.forbidden.reason(missing)}
          onClick={() => setReplaying(true)}
        >
          {texts.replay.run}
        </ReasonButton>
      </div>
      <Filters search={search} onChange={change} />
      <ReadErrors of={[query]} />
      {isEmpty &&
        (isFiltered(search) ? (
          <NoMatch onClear={clear} />
        ) : (
          <Empty icon={<IconSend size={32} aria-hidden />} title={texts.empty} text={texts.emptyText} />
        ))}
      {!isEmpty && (deliveries || !query.error) && (
        <DataTable
          label={texts.label}
          rows={deliveries}
          title={title}
          columns={columns}
          nameOf={({ type, id }) => `${type} ${id}`}
          onOpen={open}
          activeId={search.delivery}
          skeletonRows={4}
        />
      )}
      {query.hasNextPage && (
        <Button
          variant="default"
          className="deliveries-more"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {texts.older}
        </Button>
      )}
      <Suspense>
        {search.delivery !== undefined && (
          <DeliveryPane
            key={search.delivery}
            webhookId={webhook.id}
            id={search.delivery}
            onClose={() => open(undefined)}
          />
        )}
        {isReplaying && <ReplayDialog webhook={webhook} onClose={() => setReplaying(false)} />}
      </Suspense>
    </div>
  );
}

type FilterProps = { search: DeliverySearch; onChange: (part: DeliverySearch) => void };

const optionalText = (text: string): string | undefined => (text === '' ? undefined : text);

function Filters({ search, onChange }: FilterProps): ReactElement {
  const texts = later.webhooks.deliveries;
  const catalogue = useQuery(eventCatalogue);
  const { state, type, from, to } = search;
  const known = (catalogue.data ?? []).map((one) => String(one.type));
  const count = [state, type, from, to].filter((one) => one !== undefined).length;
  return (
    <search className="delivery-filters" aria-label={texts.filters}>
      <FilterFold count={count}>
        <NativeSelect
          size="xs"
          label={later.webhooks.columns.status}
          value={state ?? ''}
          data={[
            { value: '', label: texts.anyState },
            ...deliveryStates.map((value) => ({ value, label: texts.states[value] })),
          ]}
          onChange={({ currentTarget: { value } }) =>
            onChange({ state: deliveryStates.find((one) => one === value) })
          }
        />
        <Select
          size="xs"
          label={texts.columns.event}
          placeholder={texts.anyType}
          value={type ?? null}
          data={type === undefined || known.includes(type) ? known : [type, ...known]}
          onChange={(value) => onChange({ type: value ?? undefined })}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': t.access.clear(texts.columns.event) }}
          nothingFoundMessage={t.common.list.noMatch}
          data-raw
        />
        <TextInput
          size="xs"
          type="date"
          label={t.audit.from}
          value={from ?? ''}
          max={to}
          onChange={(event) => onChange({ from: optionalText(event.currentTarget.value) })}
        />
        <TextInput
          size="xs"
          type="date"
          label={t.audit.to}
          value={to ?? ''}
          min={from}
          onChange={(event) => onChange({ to: optionalText(event.currentTarget.value) })}
        />
      </FilterFold>
      <ReadErrors of={[catalogue]} />
    </search>
  );
}

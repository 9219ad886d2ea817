// Reads what was delivered to a webhook page by page, newest first, and sends it again.
import type { InputOf, ReplayWebhook, WebhookDelivery } from '@castellan/sdk';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { call, reading } from '../api.ts';

const operation = 'GET /api/v1/webhooks/{webhook_id}/deliveries';

/** The filters of the service. */
export type DeliveryFilter = Omit<NonNullable<InputOf<typeof operation>['query']>, 'size' | 'cursor'>;

export const deliveryStates = [
  'waiting',
  'sent',
  'dead',
] as const satisfies readonly WebhookDelivery['state'][];

/** The newest are read again while one of them waits, and no older page shows. */
const LIVE_MS = 5_000;

export function useDeliveries(webhookId: string, filter: DeliveryFilter) {
  const query = useInfiniteQuery({
    queryKey: [operation, webhookId, filter, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      call(operation, {
        path: { webhook_id: webhookId },
        query: { ...filter, ...(pageParam === '' ? {} : { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: ({ state: { data } }) =>
      data?.pages.length === 1 && data.pages[0]?.data.some(({ state }) => state === 'waiting')
        ? LIVE_MS
        : false,
  });
  const deliveries: WebhookDelivery[] | undefined = query.data?.pages.flatMap(({ data }) => data);
  return { query, deliveries };
}

/** One delivery, with its event and its attempts. */
export const useDelivery = (webhookId: string, id: string) =>
  useQuery({
    ...reading('GET /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}', {
      path: { webhook_id: webhookId, delivery_id: id },
    }),
    refetchInterval: ({ state }) => (state.data?.data.state === 'waiting' && !state.error ? LIVE_MS : false),
  });

export const resend = (webhookId: string, id: string) =>
  call('POST /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/resend', {
    path: { webhook_id: webhookId, delivery_id: id },
  });

export const replay = (webhookId: string, body: ReplayWebhook) =>
  call('POST /api/v1/webhooks/{webhook_id}/replay', { path: { webhook_id: webhookId }, body });

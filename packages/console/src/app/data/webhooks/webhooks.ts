// Reads and changes of webhooks. Each change names the version that the person saw.
import type { EventDescription, UpdateWebhook, Webhook } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { call, callVersioned, queryClient, reading, readingVersioned } from '../api.ts';

/** More than there can be. */
const MOST_WEBHOOKS = 100;
/** While deliveries wait, states change by themselves. */
const LIVE_MS = 5_000;

/** The record as it was read. */
export type ReadWebhook = { webhook: Webhook; etag: string | null };

const hasWork = ({ waiting, status }: Webhook): boolean => status !== 'paused' && waiting > 0;

/** All of them, by name. */
const allWebhooks = reading('GET /api/v1/webhooks', { query: { size: MOST_WEBHOOKS } });

export const useWebhooks = () =>
  useQuery({
    ...allWebhooks,
    refetchInterval: ({ state }) => (state.data?.data.some(hasWork) ? LIVE_MS : false),
  });

/** Every type of event, with its schema and a sample. It changes only with the release. */
export const eventCatalogue = {
  ...reading('GET /api/v1/webhooks/events', {}),
  staleTime: Number.POSITIVE_INFINITY,
  select: ({ data }: { data: EventDescription[] }): EventDescription[] => data,
};

const record = (id: string) =>
  readingVersioned('GET /api/v1/webhooks/{webhook_id}', { path: { webhook_id: id } });

/** Reads one webhook. `read` is undefined until it is there. */
export function useWebhook(id: string) {
  const query = useQuery({
    ...record(id),
    refetchInterval: ({ state }) =>
      state.data && !state.error && hasWork(state.data.result.data) ? LIVE_MS : false,
  });
  const read: ReadWebhook | undefined = query.data && {
    webhook: query.data.result.data,
    etag: query.data.etag,
  };
  return { read, query };
}

const versionOf = (etag: string | null) => (etag === null ? {} : { headers: { 'if-match': etag } });

/** Changes the fields of the body and returns the record. Rejects with 412 if the record is another version by now. */
export async function updateWebhook(
  { webhook: { id }, etag }: ReadWebhook,
  body: UpdateWebhook,
): Promise<ReadWebhook> {
  const changed = await callVersioned('PUT /api/v1/webhooks/{webhook_id}', {
    path: { webhook_id: id },
    body,
    ...versionOf(etag),
  });
  // What shows the record must not go back to the version before while it is read again.
  queryClient.setQueryData(record(id).queryKey, changed);
  return { webhook: changed.result.data, etag: changed.etag };
}

export const deleteWebhook = ({ webhook: { id }, etag }: ReadWebhook) =>
  call('DELETE /api/v1/webhooks/{webhook_id}', { path: { webhook_id: id }, ...versionOf(etag) });

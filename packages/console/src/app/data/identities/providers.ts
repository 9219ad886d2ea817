// Reads and changes of identity providers. Each change names the version that the person saw.
import type { IdentityProvider, ProviderImpact, UpdateIdentityProvider } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { call, callPreview, callVersioned, queryClient, reading, readingVersioned } from '../api.ts';

/** More than a sign-in page can show. */
const MOST_PROVIDERS = 100;

/** The record as it was read. */
export type ReadProvider = { provider: IdentityProvider; etag: string | null };

const record = (id: string) =>
  readingVersioned('GET /api/v1/identity-providers/{provider_id}', { path: { provider_id: id } });

/** All of them, in the order of the sign-in page. */
export const allProviders = reading('GET /api/v1/identity-providers', { query: { size: MOST_PROVIDERS } });

/** Reads one provider. `read` is undefined until it is there. */
export function useProvider(id: string) {
  const query = useQuery(record(id));
  const read: ReadProvider | undefined = query.data && {
    provider: query.data.result.data,
    etag: query.data.etag,
  };
  return { read, query };
}

const versionOf = (etag: string | null) => (etag === null ? {} : { headers: { 'if-match': etag } });

/** Changes the fields of the body and returns the record. Rejects with 412 if the record is another version by now. */
export async function updateProvider(
  { provider: { id }, etag }: ReadProvider,
  body: UpdateIdentityProvider,
  query: { end_sessions?: boolean } = {},
): Promise<ReadProvider> {
  const changed = await callVersioned('PUT /api/v1/identity-providers/{provider_id}', {
    path: { provider_id: id },
    query,
    body,
    ...versionOf(etag),
  });
  // What shows the record must not go back to the version before while it is read again.
  queryClient.setQueryData(record(id).queryKey, changed);
  return { provider: changed.result.data, etag: changed.etag };
}

export type Ending = { end_sessions: boolean; force: boolean };

export const deleteProvider = ({ provider: { id }, etag }: ReadProvider, query: Ending) =>
  call('DELETE /api/v1/identity-providers/{provider_id}', {
    path: { provider_id: id },
    query,
    ...versionOf(etag),
  });

/** What a change would do to people, or why it would be refused. */
export type Foreseen = { impact: ProviderImpact | null; refusal: string | null };

/** Asks what a change of the provider would do; null for its deletion. */
export async function foresee(
  id: string,
  body: UpdateIdentityProvider | null,
  signal: AbortSignal,
): Promise<Foreseen> {
  const path = { provider_id: id };
  const { data } =
    body === null
      ? await callPreview('DELETE /api/v1/identity-providers/{provider_id}', {
          path,
          query: { dry_run: true, force: true },
          signal,
        })
      : await callPreview('PUT /api/v1/identity-providers/{provider_id}', {
          path,
          query: { dry_run: true },
          body,
          signal,
        });
  return { impact: data.impact, refusal: data.would_be_refused?.detail ?? null };
}

export const testProvider = async (id: string) =>
  (await call('POST /api/v1/identity-providers/{provider_id}/test', { path: { provider_id: id } })).data;

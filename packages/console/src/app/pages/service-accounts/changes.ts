// Changes of a service account. Each names the version that was read, so that nobody's change is lost.
import type { ServiceAccount, UpdateServiceAccount } from '@castellan/sdk';
import { call } from '../../data/api.ts';

/** A record and the version that a change must name. */
export type Read = { account: ServiceAccount; etag: string | null };

export const ifMatch = (etag: string | null): Record<string, string> => (etag ? { 'if-match': etag } : {});

/** Sends a change. Without an ETag, it replaces whatever is stored. */
export const update = (id: string, body: UpdateServiceAccount, etag: string | null) =>
  call('PUT /api/v1/service-accounts/{service_account_id}', {
    path: { service_account_id: id },
    body,
    headers: ifMatch(etag),
  });

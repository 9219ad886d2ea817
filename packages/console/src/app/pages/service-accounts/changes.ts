// Changes of a service account. Each names the version that was read, so that nobody's change is lost.
import type { ServiceAccount, UpdateServiceAccount } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { PreviewQuery } from '../../components/dialogs/impact.tsx';
import type { ChangedField } from '../../components/forms/ChangedMeanwhile.tsx';
import { callPreview, callVersioned, readingVersioned } from '../../data/api.ts';
import type { ComparedServiceAccountField } from '../../data/form-fields.ts';
import { t } from '../../text.ts';

/** A record and the version that a change must name. */
export type Read = { account: ServiceAccount; etag: string | null };

export const ifMatch = (etag: string | null): Record<string, string> => (etag ? { 'if-match': etag } : {});

const path = (id: string) => ({ service_account_id: id });

/**
 * The account as stored when the dialog opened, and after each later change; `before` is what the person saw. Not ready while
 * `read` has failed: the act would name an old version.
 */
export function useStoredAccount({ account: seen, etag }: Read) {
  const [before] = useState(seen);
  const read = useQuery({
    ...readingVersioned('GET /api/v1/service-accounts/{service_account_id}', { path: path(seen.id) }),
    refetchOnMount: 'always',
  });
  return {
    before,
    stored: read.data?.result.data ?? seen,
    etag: read.data?.etag ?? etag,
    isReady: read.isFetchedAfterMount && !read.isError,
    read,
  };
}

/** Returns the fields that differ between the record as seen and as stored. */
export function changedFields(seen: ServiceAccount, stored: ServiceAccount): ChangedField[] {
  const texts = t.serviceAccounts;
  const shownOf = ({ name, description, external_id, is_active, roles }: ServiceAccount) =>
    Object.values({
      name: [texts.name, name],
      description: [texts.description, description],
      external_id: [texts.external_id, external_id ?? ''],
      is_active: [texts.columns.status, t.common.status[is_active ? 'active' : 'inactive']],
      roles: [
        texts.roles,
        roles
          .map((role) => role.name)
          .toSorted()
          .join(', '),
      ],
    } satisfies Record<ComparedServiceAccountField, readonly [label: string, text: string]>);
  const now = new Map(shownOf(stored));
  return shownOf(seen)
    .map(([label, value]) => ({ label, seen: value, stored: now.get(label) ?? '' }))
    .filter((one) => one.seen !== one.stored);
}

export const previewUpdate = (
  id: string,
  body: UpdateServiceAccount,
  asking: { signal: AbortSignal; query: PreviewQuery },
) => callPreview('PUT /api/v1/service-accounts/{service_account_id}', { path: path(id), body, ...asking });

/** Sends a change. Returns the new ETag, too. */
export const update = (id: string, body: UpdateServiceAccount, etag: string | null) =>
  callVersioned('PUT /api/v1/service-accounts/{service_account_id}', {
    path: path(id),
    body,
    headers: ifMatch(etag),
  });

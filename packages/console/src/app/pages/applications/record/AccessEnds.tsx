// How many people lose access to an application by a change, before it is made.
import type { UpdateApplication } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { ReadErrors } from '../../../components/page/states.tsx';
import { callPreview } from '../../../data/api.ts';
import { later, t } from '../../../text.ts';

type Props = { id: string; change: 'delete' | UpdateApplication };

export function AccessEnds({ id, change }: Props): ReactElement {
  const query = useQuery({
    queryKey: ['preview', 'application', id, change],
    queryFn: ({ signal }) => {
      const input = { path: { application_id: id }, query: { dry_run: true }, signal } as const;
      return change === 'delete'
        ? callPreview('DELETE /api/v1/applications/{application_id}', input)
        : callPreview('PUT /api/v1/applications/{application_id}', { ...input, body: change });
    },
    staleTime: 0,
    gcTime: 0,
  });
  const preview = query.data?.data;
  const users = preview?.impact?.users;
  // A rule that nobody loses access by leaves others with access.
  const isOfAll = change === 'delete' || change.is_active === false;
  return (
    <>
      <ReadErrors of={[query]} />
      <p aria-live="polite">
        {query.isLoading && t.common.list.loading}
        {preview?.would_be_refused?.detail}
        {users !== undefined && (isOfAll || users > 0) && later.applications.page.deleteEnds(users)}
      </p>
    </>
  );
}

// Reads and changes of one application. Each change names the version that the person saw.
import type { Application, UpdateApplication } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { callVersioned, queryClient, readingVersioned } from './api.ts';

/** The record as it was read. */
export type ReadApplication = { application: Application; etag: string | null };

const record = (id: string) =>
  readingVersioned('GET /api/v1/applications/{application_id}', { path: { application_id: id } });

/** Reads one application. `read` is undefined until it is there. */
export function useApplication(id: string) {
  const query = useQuery(record(id));
  const read: ReadApplication | undefined = query.data && {
    application: query.data.result.data,
    etag: query.data.etag,
  };
  return { read, query };
}

/** Changes the fields of the body and returns the record. Rejects with 412 if the record is another version by now. */
export async function updateApplication(
  { application: { id }, etag }: ReadApplication,
  body: UpdateApplication,
): Promise<ReadApplication> {
  const changed = await callVersioned('PUT /api/v1/applications/{application_id}', {
    path: { application_id: id },
    body,
    ...(etag === null ? {} : { headers: { 'if-match': etag } }),
  });
  // What shows the record must not go back to the version before while it is read again.
  queryClient.setQueryData(record(id).queryKey, changed);
  return { application: changed.result.data, etag: changed.etag };
}

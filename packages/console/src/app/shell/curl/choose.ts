// Which of the sent requests are worth repeating from a shell.
import type { SentRequest } from '../../../common/recent-requests.ts';

const pathOf = ({ url }: SentRequest): string => new URL(url).pathname;

/** Questions that are asked with a body. */
const QUESTION = /\/api\/v1\/access\/(explain|v1\/)/;

const isRead = (request: SentRequest): boolean => request.method === 'GET' || QUESTION.test(pathOf(request));

/** Previews change nothing, and are sent while a dialog is open. */
const isPreview = ({ url }: SentRequest): boolean => new URL(url).searchParams.get('dry_run') === 'true';

/**
 * Returns the last write, then what the page has read: first the operations of its tag, such as `users`, then the others. Of
 * reads with one path, the latest counts. `sent` has the latest first.
 */
export function chooseRequests(
  sent: readonly SentRequest[],
  page: string,
  tag: string | null,
): SentRequest[] {
  const write = sent.find((one) => !isRead(one) && !isPreview(one));
  const reads = new Map<string, SentRequest>();
  for (const one of sent)
    if (isRead(one) && one.page === page && !reads.has(pathOf(one))) reads.set(pathOf(one), one);
  const isMain = (one: SentRequest): boolean => tag !== null && pathOf(one).includes(`/api/v1/${tag}`);
  const all = [...reads.values()];
  return [...(write ? [write] : []), ...all.filter(isMain), ...all.filter((one) => !isMain(one))];
}

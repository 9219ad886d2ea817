// Lists logout notices. It must not show anything of an answer but its status.
import type { LogoutNoticePage, LogoutNoticeQuery } from '@castellan/contract/logout-notices';
import { AppError } from '../../../platform/errors.ts';
import type { Db } from '../../../schema/database.ts';
import { findNotices, hasApplication } from './list-store.ts';

/** Returns a page, newest first. Throws `application_not_found` (404). */
export async function listNotices(
  { db }: { db: Db },
  applicationId: string,
  { state, size, cursor }: LogoutNoticeQuery,
): Promise<LogoutNoticePage> {
  const rows = await findNotices(db, applicationId, {
    state: state ?? null,
    before: cursor ?? null,
    limit: size + 1,
  });
  if (rows.length === 0 && !(await hasApplication(db, applicationId)))
    throw new AppError('application_not_found');
  const page = rows.slice(0, size);
  const last = page.at(-1);
  return {
    data: page.map(({ created_at, next_at, sent_at, ...shown }) => ({
      ...shown,
      created_at: created_at.toISOString(),
      next_at: next_at?.toISOString() ?? null,
      sent_at: sent_at?.toISOString() ?? null,
    })),
    next_cursor: last && rows.length > size ? last.id : null,
    message: 'Logout notices, newest first.',
  };
}

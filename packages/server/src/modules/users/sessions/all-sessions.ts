// Lists and ends sessions of all users by filters, for administrators. Who may end whose is decided in protection.ts.
import {
  type AllSessionsQuery,
  MAX_SESSIONS_ENDED,
  MAX_USERS_ENDED,
  SessionFilters,
  type SessionPage,
  type UserSession,
} from '@castellan/contract/sessions';
import { pageOf, readCursor, writeCursor } from '../../../platform/cursors.ts';
import { AppError } from '../../../platform/errors.ts';
import { canonicalRange } from '../../../platform/security/address-ranges.ts';
import { shownEmail } from '../../../platform/security/email.ts';
import { readTime } from '../../../platform/times.ts';
import type { Db } from '../../../schema/database.ts';
import { type Caller, sessionIdOf } from '../../authz/caller.ts';
import { change, type Entry, isNonEmpty } from '../../authz/change.ts';
import { sameAccess } from '../../authz/impact/impact.ts';
import { endPendingOf } from '../../factors/service.ts';
import { endSessionsOfEach, revokeLiveSessions, toSession } from '../../sessions/service.ts';
import type { UserAdminDeps } from '../changes/administration.ts';
import { endPendingLinks } from '../changes/change-store.ts';
import { hasRareShortWords, isInMany } from '../lists/list-store.ts';
import { requireMayActOnAll } from '../protection.ts';
import { searchText } from '../search.ts';
import { endedEntry, endSession } from './account-security.ts';
import {
  doManyUsersMatch,
  type FoundSession,
  findMatchingSessions,
  findSessionOwner,
  findSessionPage,
  findUsersWithTokens,
  type SessionFilter,
} from './all-sessions-store.ts';

/** Returns one page of live sessions, newest first. Throws 422 for an address, a time or a cursor that is none. */
export async function listAllSessions(
  deps: UserAdminDeps,
  caller: Caller,
  { size, cursor, ...filters }: AllSessionsQuery,
): Promise<Omit<SessionPage, 'message'>> {
  const after = readCursor(cursor);
  // One session more than requested shows whether there is a next page.
  const filter = await toFilter(deps.db, filters);
  if (filter.search !== undefined)
    filter.isFrequent ||= await doManyUsersMatch(deps.db, filter.search, filter.areShortRare === true);
  const { total, isEstimate, sessions, next } = await findSessionPage(deps.db, filter, after, size + 1);
  const { page, next_cursor } = pageOf(sessions, size);
  return {
    data: page.map((row) => present(row, caller)),
    next_cursor: next === null ? next_cursor : writeCursor(next),
    total,
    ...(isEstimate ? { total_is_estimate: true } : {}),
  };
}

const present = (row: FoundSession, { principal }: Caller): UserSession => ({
  ...toSession(row, sessionIdOf(principal)),
  user: {
    id: row.user_id,
    email: shownEmail(row.email),
    first_name: row.first_name,
    last_name: row.last_name,
  },
});

/** Ends a live session and every mailed link of its user. Throws 401, 403, 404. */
export const endAnySession = (deps: UserAdminDeps, caller: Caller, sessionId: string): Promise<void> =>
  change(deps, caller, async (locking) => {
    const owner = await findSessionOwner(locking.tx, sessionId);
    if (owner !== undefined) return endSession(locking, owner, sessionId);
    await locking.entitle();
    throw new AppError('session_not_found');
  });

/**
 * Ends the matching sessions, and every mailed link of their users: all or none. A filter that names users alone ends all that these
 * users have, personal access tokens included, as `endSessionsOf` does. Returns the numbers of both. Throws `validation_failed`
 * without a filter, `too_many_matches`, 401, and 403 that names the users who may not be acted on.
 */
export async function endMatchingSessions(
  deps: UserAdminDeps,
  caller: Caller,
  filters: SessionFilters,
): Promise<{ sessions: number; users: number }> {
  const filter = await toFilter(deps.db, filters);
  if (Object.keys(filter).length === 0) throw filterMissing();
  return change(deps, caller, async (locking) => {
    const { tx } = locking;
    // Before any lock: sessions that begin later are not ended, and those that end before the lock are left out below.
    const found = await findMatchingSessions(tx, filter, MAX_SESSIONS_ENDED + 1);
    const namesUsersAlone = filter.address === undefined && filter.unusedSince === undefined;
    const withTokens = namesUsersAlone ? await findUsersWithTokens(tx, filter, MAX_USERS_ENDED + 1) : [];
    const users = [...new Set([...found.map((session) => session.user_id), ...withTokens])];
    requireFewEnough(found.length, users.length);
    const entitled = await requireMayActOnAll(locking, users);
    const ids = found.map((session) => session.id);
    const ended = namesUsersAlone
      ? await endSessionsOfEach(tx, users, 'revoked')
      : await revokeLiveSessions(tx, ids, 'revoked', filter.unusedSince ?? null);
    const concerned = ended.map((one) => one.user_id);
    await endPendingLinks(entitled, concerned);
    await endPendingOf(tx, concerned);
    const result = { sessions: ended.reduce((sum, { count }) => sum + count, 0), users: ended.length };
    const entries: readonly Entry[] = ended.map((one) => endedEntry(one.user_id, one));
    return isNonEmpty(entries) ? entitled.done(result, sameAccess, ...entries) : entitled.unchanged(result);
  });
}

function requireFewEnough(sessions: number, users: number): void {
  if (sessions <= MAX_SESSIONS_ENDED && users <= MAX_USERS_ENDED) return;
  const matches =
    sessions > MAX_SESSIONS_ENDED
      ? `More than ${inThousands(MAX_SESSIONS_ENDED)} sessions match`
      : `Sessions of ${inThousands(users)} users match`;
  throw new AppError('too_many_matches', {
    detail: `${matches}. One request ends at most ${inThousands(MAX_SESSIONS_ENDED)} sessions of at most ${inThousands(MAX_USERS_ENDED)} users. Nothing was ended. Narrow the filter.`,
  });
}

const inThousands = (count: number): string => count.toLocaleString('en');

function filterMissing(): AppError {
  const names = Object.keys(SessionFilters.properties);
  return new AppError('validation_failed', {
    detail: `Send at least one filter: ${names.join(', ')}.`,
    errors: names.map((name) => ({ field: `query.${name}`, code: 'required', message: 'or another filter' })),
  });
}

// An empty text is not a filter, because forms send empty fields.
async function toFilter(
  db: Db,
  { user_id, address = '', search = '', older_than }: SessionFilters,
): Promise<SessionFilter> {
  const part = searchText(search);
  const unusedSince = readTime('older_than', older_than);
  const from = address.trim() === '' ? undefined : readAddress(address.trim());
  const isFrequent = part !== '' && (await isInMany(db, part));
  // Of a text that many have, many have the short words.
  const areShortRare = part !== '' && !isFrequent && (await hasRareShortWords(db, part));
  return {
    ...(user_id === undefined ? {} : { userId: user_id.toLowerCase() }),
    ...(from === undefined ? {} : { address: from }),
    ...(part === '' ? {} : { search: part, isFrequent, areShortRare }),
    ...(unusedSince === null ? {} : { unusedSince }),
  };
}

function readAddress(text: string): string {
  const range = canonicalRange(text);
  if (range !== undefined) return range;
  const message = 'must be an IP address or a network such as 203.0.113.0/24';
  throw new AppError('validation_failed', {
    detail: `query.address ${message}.`,
    errors: [{ field: 'query.address', code: 'invalid_address', message }],
  });
}

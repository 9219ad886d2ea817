// The columns of a browser session, and which of them count. It must not contain a whole statement.
import { sql } from 'kysely';
import type { Row } from '../../../schema/database.ts';
import { userColumns } from '../../../schema/user-record.ts';
import { isOfTrustedKey } from '../keys/revoked.ts';
import type { LiveUser } from '../token-lookup.ts';
import type { PresentedBrowser } from './cookie.ts';

export type { PresentedBrowser } from './cookie.ts';

/**
 * The user, the session and the context of the browser's token: `userPrincipal` makes a principal of it. `auth_time` and `now` are
 * the database's, to the millisecond.
 */
export type BrowserSession = LiveUser &
  Pick<Row<'users'>, 'has_factor'> & {
    readonly now: Date;
  };

export type ListedBrowser = BrowserSession & Pick<Row<'sessions'>, 'origin_address' | 'other_origin_address'>;

/** Select of what `findBrowserSession` decides by: no row, unless the token and its session are live. */
export const liveBrowser = (presented: PresentedBrowser | null) => sql`
  select t.session_id, t.acr, t.amr, coalesce(t.auth_time, s.created_at) as auth_time, clock_timestamp() as now,
    s.origin_address, s.other_origin_address, u.has_factor, ${sql.raw(userColumns)}
  from session_tokens t cross join lateral (select * from sessions s where s.id = t.session_id offset 0) s
  join users u on u.id = t.user_id
  where t.user_id = ${presented?.userId ?? null}::uuid and t.token_hash = ${presented?.hash ?? null}::bytea
    and t.kind = 'browser' and t.expires_at > now() and s.user_id = t.user_id
    and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active) and ${sql.raw(isOfTrustedKey)}`;

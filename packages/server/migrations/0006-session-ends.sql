-- Ends sessions in one small write, whatever hangs on them. A session, or all sessions of a user, end by a mark that
-- every look-up honours; the rows go later, in batches.

-- The epoch that new sessions of the user begin in. Raising it ends every session of an earlier epoch.
alter table users add column session_epoch integer not null default 0;
alter table sessions add column epoch integer not null default 0;

-- A session begins in the present epoch, whoever inserts it: instances of the version before this one do not know the
-- column. The caller holds the lock of the user's row.
create function set_session_epoch() returns trigger language plpgsql as $$
begin
  new.epoch := (select session_epoch from users where id = new.user_id);
  return new;
end $$;
create trigger sessions_set_epoch before insert on sessions for each row execute function set_session_epoch();

-- Accounts that registered themselves and await verification (0010-registrations). Only these are the clean-up's: one that
-- an administrator created or unverified stays.
alter table users add column pending_registration boolean not null default false;
-- Grows with every administrator's act on the account's access. A mail that was queued in an earlier epoch brings no link.
alter table users add column link_epoch integer not null default 0;

-- The one definition of a live session. The planner writes it out in place, so it costs nothing and uses the indexes. It
-- takes columns, not rows: PostgreSQL 15 adds no column with a default to a table whose row type a function uses.
create function is_live_session(
  revoked_at timestamptz, expires_at timestamptz, epoch integer, user_epoch integer, is_active boolean
) returns boolean language sql stable parallel safe
  return revoked_at is null and expires_at > now() and epoch = user_epoch and is_active;

-- A refresh token leaves the list at the end of the reuse interval after its exchange. This keeps the `exp` claim that
-- it was signed with; null: `expires_at`.
alter table session_tokens add column signed_expires_at timestamptz;

-- These keys made every deletion as long as the list of what hung on the row.
alter table sessions drop constraint sessions_user_id_fkey;
alter table session_tokens drop constraint session_tokens_session_id_fkey;
alter table idempotency_keys drop constraint idempotency_keys_user_id_fkey;

-- What has ended and left rows behind. The transaction that ends it writes the row; the clean-up takes it away with the
-- last of those rows.
create table session_ends (
  id bigint generated always as identity constraint session_ends_id_pkey primary key,
  user_id uuid not null,
  -- One session; or, with `before_epoch`, every session of an earlier epoch; or, with neither, everything of a user who
  -- was deleted.
  session_id uuid,
  before_epoch integer,
  reason text not null,
  ended_at timestamptz not null default clock_timestamp(),
  constraint session_ends_session_id_before_epoch_check check (session_id is null or before_epoch is null)
);

create function note_deleted_users() returns trigger language plpgsql as $$
begin
  insert into session_ends (user_id, reason) select id, 'user_deleted' from old_rows;
  return null;
end $$;
create trigger users_note_deleted after delete on users
  referencing old table as old_rows for each statement execute function note_deleted_users();

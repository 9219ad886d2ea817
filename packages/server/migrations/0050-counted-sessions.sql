-- Phase: expand
-- Live sessions are counted: exactly up to 10,000, and beyond that by a job. This replaces the triggers of migrations 0024, 0034
-- and 0036, so a sign-in and the end of a session write nothing else.

-- What the job counted last.
create table live_session_counts (
  only_row boolean constraint live_session_counts_only_row_pkey primary key default true,
  sessions bigint not null,
  counted_at timestamptz not null,
  constraint live_session_counts_only_row_check check (only_row)
);

-- In the order in which the service locks their rows: users, then their sessions.
drop trigger users_count_live_sessions on users;
drop trigger users_count_deleted_sessions on users;
drop trigger users_forget_live_sessions on users;
drop trigger sessions_count_live_inserted on sessions;
drop trigger sessions_count_live_updated on sessions;
drop trigger sessions_forget_live_sessions on sessions;
drop function count_live_sessions(), count_live_sessions_of_user(), forget_live_sessions();

-- For the last release, which counts all sessions while this row is there, and deletes it when it has. The next release drops
-- `live_session_changes`, `live_session_recounts`, `ten_minutes` and this trigger.
insert into live_session_recounts default values;
create function keep_live_session_recounts() returns trigger language plpgsql as $$
begin
  return null;
end $$;
create trigger live_session_recounts_keep before delete on live_session_recounts
  for each row execute function keep_live_session_recounts();

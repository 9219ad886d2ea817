-- How many sessions are live, exactly, without counting them all: sessions that are not revoked, by the ten minutes in which
-- they expire. Those that expire within the present ten minutes are counted one by one, so an end by time needs no write.

-- The sum of the changes counts. Writers only insert, so they never wait for each other; a job adds the rows up.
create table live_session_changes (
  expires_in timestamptz not null,
  change bigint not null
);
create index live_session_changes_expires_in_idx on live_session_changes (expires_in) include (change);

-- A row says that the numbers are wrong until the job has counted again: a user with very many sessions lost them all, and
-- nobody who ends sessions waits for counting them.
create table live_session_recounts (
  asked_at timestamptz not null default now()
);

create function ten_minutes(at timestamptz) returns timestamptz language sql immutable parallel safe
  return to_timestamp(floor(extract(epoch from at) / 600) * 600);

-- A session counts while its user is active and in its epoch, as `is_live_session` says. The caller holds the lock of the
-- user's row or, for a refresh, of the session's.
create function count_live_sessions() returns trigger language plpgsql as $$
begin
  if tg_op in ('UPDATE', 'DELETE') then
    insert into live_session_changes (expires_in, change)
    select ten_minutes(old.expires_at), -1 from users u
    where u.id = old.user_id and u.session_epoch = old.epoch and u.is_active and old.revoked_at is null
      and old.expires_at > now();
  end if;
  if tg_op in ('UPDATE', 'INSERT') then
    insert into live_session_changes (expires_in, change)
    select ten_minutes(new.expires_at), 1 from users u
    where u.id = new.user_id and u.session_epoch = new.epoch and u.is_active and new.revoked_at is null
      and new.expires_at > now();
  end if;
  return null;
end $$;

create trigger sessions_count_live_inserted after insert or delete on sessions
  for each row execute function count_live_sessions();
create trigger sessions_count_live_updated after update of expires_at, revoked_at, epoch, user_id on sessions
  for each row when (
    (old.expires_at, old.revoked_at is null, old.epoch, old.user_id)
    is distinct from (new.expires_at, new.revoked_at is null, new.epoch, new.user_id))
  execute function count_live_sessions();

-- Ending all sessions of a user is one write to the user's row; deactivating and deleting users are others.
create function count_live_sessions_of_user() returns trigger language plpgsql as $$
declare
  most constant integer := 1000;
  open_sessions integer;
begin
  select count(*) into open_sessions from (
    select from sessions s
    where s.user_id = old.id and s.revoked_at is null and s.epoch = any(array[old.session_epoch, new.session_epoch])
      and s.expires_at > now()
    limit most + 1) s;
  if open_sessions > most then
    insert into live_session_recounts default values;
    return null;
  end if;
  if old.is_active then
    insert into live_session_changes (expires_in, change)
    select ten_minutes(s.expires_at), -count(*) from sessions s
    where s.user_id = old.id and s.revoked_at is null and s.epoch = old.session_epoch and s.expires_at > now()
    group by 1;
  end if;
  if tg_op = 'UPDATE' and new.is_active then
    insert into live_session_changes (expires_in, change)
    select ten_minutes(s.expires_at), count(*) from sessions s
    where s.user_id = new.id and s.revoked_at is null and s.epoch = new.session_epoch and s.expires_at > now()
    group by 1;
  end if;
  return null;
end $$;
create trigger users_count_live_sessions after update of session_epoch, is_active on users
  for each row when ((old.session_epoch, old.is_active) is distinct from (new.session_epoch, new.is_active))
  execute function count_live_sessions_of_user();
create trigger users_count_deleted_sessions after delete on users
  for each row execute function count_live_sessions_of_user();

create function forget_live_sessions() returns trigger language plpgsql as $$
begin
  delete from live_session_changes;
  delete from live_session_recounts;
  return null;
end $$;
create trigger users_forget_live_sessions after truncate on users
  for each statement execute function forget_live_sessions();
create trigger sessions_forget_live_sessions after truncate on sessions
  for each statement execute function forget_live_sessions();

-- Counts the sessions of a user without reading their rows.
create index sessions_open_of_user_idx on sessions (user_id, epoch, expires_at) where revoked_at is null;

-- After the triggers, which keep writers out until the end of this migration: no session is counted twice or not at all.
insert into live_session_changes (expires_in, change)
select ten_minutes(s.expires_at), count(*) from sessions s join users u on u.id = s.user_id
where is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
group by 1;

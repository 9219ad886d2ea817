-- Phase: expand
-- Locks: users, sessions, applications, application_sessions
-- Logout notices: what tells applications that a session has ended (OpenID Connect Back-Channel Logout 1.0). Triggers write
-- them in the transaction that ends it, whoever does, also by hand in SQL.

create table logout_notices (
  id bigint generated always as identity constraint logout_notices_id_pkey primary key,
  application_id uuid not null,
  user_id uuid not null,
  -- What the application knows the session by.
  sid text not null,
  reason text not null,
  -- refused: the application answered that it will not take it. given_up: it was tried for as long as notices are.
  state text not null default 'waiting'
    constraint logout_notices_state_check check (state in ('waiting', 'sent', 'refused', 'given_up')),
  attempts integer not null default 0,
  next_at timestamptz not null default clock_timestamp(),
  -- The lease of the instance that sends it.
  locked_until timestamptz,
  -- Of the last attempt: the HTTP status of the answer, or why there was none.
  status integer,
  error text,
  -- Of a deleted application: what its record said. Null: the record is there.
  application jsonb,
  created_at timestamptz not null default clock_timestamp(),
  sent_at timestamptz
) with (fillfactor = 80);
create index logout_notices_waiting_idx on logout_notices (application_id, next_at) where state = 'waiting';
create index logout_notices_application_id_id_idx on logout_notices (application_id, id);

-- Ends with more applications than one transaction tells, or with some that another transaction has locked. The worker tells them.
create table logout_backlog (
  id bigint generated always as identity constraint logout_backlog_id_pkey primary key,
  user_id uuid,
  session_id uuid,
  application_id uuid,
  reason text not null,
  application jsonb,
  -- Sign-ins to applications after this are not affected.
  ended_at timestamptz not null default clock_timestamp()
);

create index application_sessions_application_id_idx on application_sessions (application_id) where told_at is null;
create index application_sessions_told_at_idx on application_sessions (told_at) where told_at is not null;

-- Writes notices for at most `at_most` applications that took part in sessions: of this user, session and application, each null
-- for any; one of user and application is given. `until`: only those that joined by then. `copy`: the record of a deleted
-- application. Returns whether some are left. It waits for no lock.
create function write_logout_notices(
  of_user uuid, of_session uuid, of_application uuid, why text, copy jsonb, until timestamptz, at_most integer
) returns boolean language plpgsql
-- The plan is kept, and must not be that of the empty table.
set enable_seqscan = off
as $$
declare
  lowest constant uuid := '00000000-0000-0000-0000-000000000000';
  highest constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  taken tid[];
begin
  if of_user is null then
    taken := array(
      select s.ctid from application_sessions s
      where s.application_id = of_application and s.told_at is null and s.last_at <= until
      limit at_most for update skip locked);
  else
    taken := array(
      select s.ctid from application_sessions s
      where s.user_id = of_user
        and s.session_id between coalesce(of_session, lowest) and coalesce(of_session, highest)
        and s.application_id between coalesce(of_application, lowest) and coalesce(of_application, highest)
        and s.told_at is null and s.last_at <= until
      limit at_most for update skip locked);
  end if;
  if cardinality(taken) > 0 then
    with told as (
      update application_sessions s set told_at = clock_timestamp() where s.ctid = any(taken)
      returning s.application_id, s.user_id, s.sid
    )
    insert into logout_notices (application_id, user_id, sid, reason, application)
    select t.application_id, t.user_id, t.sid, why, copy
    from told t left join applications a on a.id = t.application_id
    where copy is not null or (a.is_active and a.backchannel_logout_url is not null);
  end if;
  if of_user is null then
    return exists (
      select from application_sessions s
      where s.application_id = of_application and s.told_at is null and s.last_at <= until);
  end if;
  return exists (
    select from application_sessions s
    where s.user_id = of_user
      and s.session_id between coalesce(of_session, lowest) and coalesce(of_session, highest)
      and s.application_id between coalesce(of_application, lowest) and coalesce(of_application, highest)
      and s.told_at is null and s.last_at <= until);
end $$;

-- Tells applications that their access has ended, in this transaction: see write_logout_notices.
create function tell_applications(
  of_user uuid, of_session uuid, of_application uuid, why text, copy jsonb default null
) returns void language plpgsql as $$
begin
  -- So many cost about a millisecond.
  if write_logout_notices(of_user, of_session, of_application, why, copy, 'infinity', 50) then
    insert into logout_backlog (user_id, session_id, application_id, reason, application)
    values (of_user, of_session, of_application, why, copy);
  end if;
end $$;

create function tell_applications_of_session() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform tell_applications(old.user_id, old.id, null, coalesce(old.revoked_reason, 'session_deleted'));
  else
    perform tell_applications(old.user_id, old.id, null, coalesce(new.revoked_reason, 'session_ended'));
  end if;
  return null;
end $$;
create trigger sessions_tell_applications_ended after update of revoked_at on sessions
  for each row when (old.revoked_at is null and new.revoked_at is not null)
  execute function tell_applications_of_session();
create trigger sessions_tell_applications_deleted after delete on sessions
  for each row execute function tell_applications_of_session();

create function tell_applications_of_user() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform tell_applications(old.id, null, null, 'user_deleted');
  elsif new.is_active then
    perform tell_applications(old.id, null, null, 'all_sessions_ended');
  else
    perform tell_applications(old.id, null, null, 'user_deactivated');
  end if;
  return null;
end $$;
create trigger users_tell_applications_ended after update of session_epoch, is_active on users
  for each row when (new.session_epoch > old.session_epoch or (old.is_active and not new.is_active))
  execute function tell_applications_of_user();
create trigger users_tell_applications_deleted after delete on users
  for each row execute function tell_applications_of_user();

-- An application that is deleted while it is active is told like the others, with what its record said.
create function tell_deleted_application() returns trigger language plpgsql as $$
declare
  copy jsonb := jsonb_build_object(
    'client_id', old.client_id, 'backchannel_logout_url', old.backchannel_logout_url, 'subject_type', old.subject_type,
    'sector', old.sector, 'id_token_signing_alg', old.id_token_signing_alg);
begin
  update logout_notices set application = copy where application_id = old.id and state = 'waiting';
  perform tell_applications(null, null, old.id, 'application_deleted', copy);
  return null;
end $$;
create trigger applications_tell_deleted after delete on applications
  for each row when (old.is_active and old.backchannel_logout_url is not null)
  execute function tell_deleted_application();

-- Phase: expand
-- Locks: api_key_permissions, api_keys, client_tokens, personal_token_permissions, personal_tokens, revoked_signing_keys, service_account_roles, service_accounts, session_tokens, sessions, user_roles, users
-- The change feed: what other services must forget of the answers that they keep. Triggers note it in the transaction of the change,
-- whoever makes it, also by hand in SQL, and only while somebody reads the feed.

-- Written rarely: every statement on the tables below reads it, and must not find thousands of its dead versions.
create table feed_state (
  only_row boolean not null default true
    constraint feed_state_only_row_pkey primary key constraint feed_state_only_row_check check (only_row),
  is_on boolean not null default false,
  -- Readers move it on; after it, a job turns the feed off.
  wanted_until timestamptz,
  -- The position before the first row of an untrimmed feed_log. The stamp is random and never repeats, also after a restore.
  seq bigint not null default 0,
  stamp uuid not null default gen_random_uuid()
);
insert into feed_state default values;

-- What has changed and has no number yet. Its ids say nothing about the order of commits, so nobody reads it by them.
create table feed_queue (
  id bigint generated always as identity constraint feed_queue_id_pkey primary key,
  type text not null,
  ref text not null,
  body jsonb
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_threshold = -1);

-- One writer at a time gives the numbers, so whoever reads a row can read all before it.
create table feed_log (
  seq bigint constraint feed_log_seq_pkey primary key,
  stamp uuid not null default gen_random_uuid(),
  changes jsonb not null,
  at timestamptz not null default clock_timestamp()
);

-- Whether the statement's changes must be noted. A transaction with one snapshot for all of its statements cannot see that the feed
-- was turned on since, so its changes always are.
create function feed_is_wanted() returns boolean language plpgsql as $$
begin
  return exists (select from feed_state where is_on)
    or current_setting('transaction_isolation') in ('repeatable read', 'serializable');
end $$;

-- Notes changes of one type. More than 1,000 become one of everything: whoever forgets so much asks again for nearly all anyway.
create function feed_note(kind text, refs text[]) returns void language plpgsql as $$
begin
  if cardinality(refs) > 1000 then
    insert into feed_queue (type, ref) values ('everything', '*');
  else
    insert into feed_queue (type, ref) select kind, r from unnest(refs) r;
  end if;
end $$;

create function feed_sessions() returns trigger language plpgsql as $$
declare
  ids text[];
begin
  if not feed_is_wanted() then
    return null;
  end if;
  if tg_op = 'DELETE' then
    ids := array(select o.id from old_rows o where o.revoked_at is null and o.expires_at > now() limit 1001);
  else
    ids := array(
      select o.id from old_rows o left join new_rows n on n.id = o.id
      where n.id is null or (o.revoked_at is null and n.revoked_at is not null) or n.expires_at < o.expires_at
        or (n.epoch, n.user_id, n.created_at) is distinct from (o.epoch, o.user_id, o.created_at)
        or (n.acted_by_id, n.acted_by_session_id) is distinct from (o.acted_by_id, o.acted_by_session_id)
      limit 1001);
  end if;
  perform feed_note('session', ids);
  return null;
end $$;

-- Rows of sessions that have ended are deleted by a job; their sessions were noted when they ended.
create function feed_session_tokens() returns trigger language plpgsql as $$
declare
  ids text[];
begin
  if not feed_is_wanted() then
    return null;
  end if;
  if tg_op = 'DELETE' then
    ids := array(
      select o.jti from old_rows o join sessions s on s.id = o.session_id join users u on u.id = o.user_id
      where o.kind in ('access', 'acting') and o.expires_at > now()
        and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
      limit 1001);
  else
    ids := array(
      select o.jti from old_rows o left join new_rows n on n.token_hash = o.token_hash and n.user_id = o.user_id
      where o.kind in ('access', 'acting') and o.expires_at > now()
        and (n.token_hash is null or n.expires_at < o.expires_at
          or (n.session_id, n.kind, n.jti, n.key_id, n.acr, n.amr, n.auth_time)
            is distinct from (o.session_id, o.kind, o.jti, o.key_id, o.acr, o.amr, o.auth_time))
      limit 1001);
  end if;
  perform feed_note('token', ids);
  return null;
end $$;

create function feed_client_tokens() returns trigger language plpgsql as $$
declare
  ids text[];
begin
  if not feed_is_wanted() then
    return null;
  end if;
  if tg_op = 'DELETE' then
    ids := array(
      select o.jti from old_rows o
        join api_keys k on k.id = o.api_key_id join service_accounts a on a.id = o.service_account_id
      where o.expires_at > now() and o.epoch = a.token_epoch and a.is_active and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > now())
      limit 1001);
  else
    ids := array(
      select o.jti from old_rows o
        left join new_rows n on n.token_hash = o.token_hash and n.service_account_id = o.service_account_id
      where o.expires_at > now()
        and (n.token_hash is null or n.expires_at < o.expires_at
          or (n.api_key_id, n.jti, n.key_id, n.epoch) is distinct from (o.api_key_id, o.jti, o.key_id, o.epoch))
      limit 1001);
  end if;
  perform feed_note('token', ids);
  return null;
end $$;

create function feed_users() returns trigger language plpgsql as $$
declare
  ids text[];
begin
  if not feed_is_wanted() then
    return null;
  end if;
  if tg_op = 'DELETE' then
    ids := array(select o.id from old_rows o limit 1001);
  else
    ids := array(
      select o.id from old_rows o left join new_rows n on n.id = o.id
      where (o.session_epoch, o.is_active, o.is_superuser, o.verified, o.must_change_password, o.email, o.first_name, o.last_name,
          o.password_hash is null)
        is distinct from
        (n.session_epoch, n.is_active, n.is_superuser, n.verified, n.must_change_password, n.email, n.first_name, n.last_name,
          n.password_hash is null)
      limit 1001);
  end if;
  perform feed_note('user', ids);
  return null;
end $$;

create function feed_user_roles() returns trigger language plpgsql as $$
declare
  ids text[];
begin
  if not feed_is_wanted() then
    return null;
  end if;
  if tg_op = 'INSERT' then
    ids := array(select distinct user_id from new_rows limit 1001);
  elsif tg_op = 'DELETE' then
    ids := array(select distinct user_id from old_rows limit 1001);
  else
    ids := array(select user_id from old_rows union select user_id from new_rows limit 1001);
  end if;
  perform feed_note('user', ids);
  return null;
end $$;

-- A personal access token is known by its id.
create function feed_personal_tokens() returns trigger language plpgsql as $$
declare
  ids text[];
begin
  if not feed_is_wanted() then
    return null;
  end if;
  if tg_op = 'DELETE' then
    ids := array(select o.id from old_rows o where o.revoked_at is null and o.expires_at > now() limit 1001);
  else
    ids := array(
      select o.id from old_rows o left join new_rows n on n.id = o.id
      where n.id is null or (o.revoked_at is null and n.revoked_at is not null)
        or (n.user_id, n.secret_hash, n.user_epoch, n.acr, n.is_narrowed, n.expires_at)
          is distinct from (o.user_id, o.secret_hash, o.user_epoch, o.acr, o.is_narrowed, o.expires_at)
      limit 1001);
  end if;
  perform feed_note('token', ids);
  return null;
end $$;

create function feed_personal_token_permissions() returns trigger language plpgsql as $$
declare
  ids text[];
begin
  if not feed_is_wanted() then
    return null;
  end if;
  if tg_op = 'INSERT' then
    ids := array(select distinct personal_token_id from new_rows limit 1001);
  elsif tg_op = 'DELETE' then
    ids := array(select distinct personal_token_id from old_rows limit 1001);
  else
    ids := array(select personal_token_id from old_rows union select personal_token_id from new_rows limit 1001);
  end if;
  perform feed_note('token', ids);
  return null;
end $$;

create function feed_service_accounts() returns trigger language plpgsql as $$
declare
  ids text[];
begin
  if not feed_is_wanted() then
    return null;
  end if;
  if tg_op = 'DELETE' then
    ids := array(select o.id from old_rows o limit 1001);
  else
    ids := array(
      select o.id from old_rows o left join new_rows n on n.id = o.id
      where (o.name, o.is_active, o.token_epoch) is distinct from (n.name, n.is_active, n.token_epoch)
      limit 1001);
  end if;
  perform feed_note('service_account', ids);
  return null;
end $$;

create function feed_service_account_roles() returns trigger language plpgsql as $$
declare
  ids text[];
begin
  if not feed_is_wanted() then
    return null;
  end if;
  if tg_op = 'INSERT' then
    ids := array(select distinct service_account_id from new_rows limit 1001);
  elsif tg_op = 'DELETE' then
    ids := array(select distinct service_account_id from old_rows limit 1001);
  else
    ids := array(select service_account_id from old_rows union select service_account_id from new_rows limit 1001);
  end if;
  perform feed_note('service_account', ids);
  return null;
end $$;

-- Rows of keys that ended long ago are deleted by a job.
create function feed_api_keys() returns trigger language plpgsql as $$
declare
  ids text[];
begin
  if not feed_is_wanted() then
    return null;
  end if;
  if tg_op = 'DELETE' then
    ids := array(
      select distinct o.service_account_id from old_rows o
      where o.revoked_at is null and (o.expires_at is null or o.expires_at > now())
      limit 1001);
  else
    ids := array(
      select distinct o.service_account_id from old_rows o left join new_rows n on n.id = o.id
      where n.id is null or (o.revoked_at is null and n.revoked_at is not null)
        or (n.service_account_id, n.secret_hash, n.is_narrowed, n.expires_at)
          is distinct from (o.service_account_id, o.secret_hash, o.is_narrowed, o.expires_at)
      limit 1001);
  end if;
  perform feed_note('service_account', ids);
  return null;
end $$;

create function feed_api_key_permissions() returns trigger language plpgsql as $$
declare
  ids text[];
begin
  if not feed_is_wanted() then
    return null;
  end if;
  if tg_op = 'INSERT' then
    ids := array(
      select distinct k.service_account_id from new_rows n join api_keys k on k.id = n.api_key_id limit 1001);
  elsif tg_op = 'DELETE' then
    -- With a key that is deleted with its rows, the key itself was noted.
    ids := array(
      select distinct k.service_account_id from old_rows o join api_keys k on k.id = o.api_key_id limit 1001);
  else
    ids := array(
      select distinct k.service_account_id
      from (select api_key_id from old_rows union select api_key_id from new_rows) c join api_keys k on k.id = c.api_key_id
      limit 1001);
  end if;
  perform feed_note('service_account', ids);
  return null;
end $$;

create function feed_revoked_signing_keys() returns trigger language plpgsql as $$
begin
  if feed_is_wanted() then
    perform feed_note('signing_key', array(select key_id from new_rows limit 1001));
  end if;
  return null;
end $$;

create function feed_truncated() returns trigger language plpgsql as $$
begin
  if feed_is_wanted() then
    insert into feed_queue (type, ref) values ('everything', '*');
  end if;
  return null;
end $$;

-- Migration 0007, and notes the change for the feed.
create or replace function record_authz_change(changed_role_ids uuid[], changed_permission_ids uuid[]) returns void
language plpgsql as $$
declare
  before authz_version;
  after_it authz_version;
begin
  if changed_role_ids = '{}' and changed_permission_ids = '{}' then
    return;
  end if;
  select * into before from authz_version for no key update;
  update authz_version set version = version + 1, stamp = gen_random_uuid() returning * into after_it;
  insert into authz_changes (slot, version, previous_stamp, stamp, role_ids, permission_ids)
    values (after_it.version % 1000, after_it.version, before.stamp, after_it.stamp, changed_role_ids, changed_permission_ids)
    on conflict (slot) do update set version = excluded.version, previous_stamp = excluded.previous_stamp,
      stamp = excluded.stamp, role_ids = excluded.role_ids, permission_ids = excluded.permission_ids;
  if feed_is_wanted() then
    insert into feed_queue (type, ref, body) values ('graph', after_it.stamp,
      jsonb_build_object('role_ids', to_jsonb(changed_role_ids), 'permission_ids', to_jsonb(changed_permission_ids)));
  end if;
end $$;

create trigger sessions_feed_updated after update on sessions
  referencing old table as old_rows new table as new_rows for each statement execute function feed_sessions();
create trigger sessions_feed_deleted after delete on sessions
  referencing old table as old_rows for each statement execute function feed_sessions();
create trigger sessions_feed_truncated after truncate on sessions for each statement execute function feed_truncated();

create trigger session_tokens_feed_updated after update on session_tokens
  referencing old table as old_rows new table as new_rows for each statement execute function feed_session_tokens();
create trigger session_tokens_feed_deleted after delete on session_tokens
  referencing old table as old_rows for each statement execute function feed_session_tokens();
create trigger session_tokens_feed_truncated after truncate on session_tokens
  for each statement execute function feed_truncated();

create trigger client_tokens_feed_updated after update on client_tokens
  referencing old table as old_rows new table as new_rows for each statement execute function feed_client_tokens();
create trigger client_tokens_feed_deleted after delete on client_tokens
  referencing old table as old_rows for each statement execute function feed_client_tokens();
create trigger client_tokens_feed_truncated after truncate on client_tokens
  for each statement execute function feed_truncated();

create trigger users_feed_updated after update on users
  referencing old table as old_rows new table as new_rows for each statement execute function feed_users();
create trigger users_feed_deleted after delete on users
  referencing old table as old_rows for each statement execute function feed_users();
create trigger users_feed_truncated after truncate on users for each statement execute function feed_truncated();

create trigger user_roles_feed_inserted after insert on user_roles
  referencing new table as new_rows for each statement execute function feed_user_roles();
create trigger user_roles_feed_updated after update on user_roles
  referencing old table as old_rows new table as new_rows for each statement execute function feed_user_roles();
create trigger user_roles_feed_deleted after delete on user_roles
  referencing old table as old_rows for each statement execute function feed_user_roles();
create trigger user_roles_feed_truncated after truncate on user_roles
  for each statement execute function feed_truncated();

create trigger personal_tokens_feed_updated after update on personal_tokens
  referencing old table as old_rows new table as new_rows for each statement execute function feed_personal_tokens();
create trigger personal_tokens_feed_deleted after delete on personal_tokens
  referencing old table as old_rows for each statement execute function feed_personal_tokens();
create trigger personal_tokens_feed_truncated after truncate on personal_tokens
  for each statement execute function feed_truncated();

create trigger personal_token_permissions_feed_inserted after insert on personal_token_permissions
  referencing new table as new_rows for each statement execute function feed_personal_token_permissions();
create trigger personal_token_permissions_feed_updated after update on personal_token_permissions
  referencing old table as old_rows new table as new_rows for each statement execute function feed_personal_token_permissions();
create trigger personal_token_permissions_feed_deleted after delete on personal_token_permissions
  referencing old table as old_rows for each statement execute function feed_personal_token_permissions();
create trigger personal_token_permissions_feed_truncated after truncate on personal_token_permissions
  for each statement execute function feed_truncated();

create trigger service_accounts_feed_updated after update on service_accounts
  referencing old table as old_rows new table as new_rows for each statement execute function feed_service_accounts();
create trigger service_accounts_feed_deleted after delete on service_accounts
  referencing old table as old_rows for each statement execute function feed_service_accounts();
create trigger service_accounts_feed_truncated after truncate on service_accounts
  for each statement execute function feed_truncated();

create trigger service_account_roles_feed_inserted after insert on service_account_roles
  referencing new table as new_rows for each statement execute function feed_service_account_roles();
create trigger service_account_roles_feed_updated after update on service_account_roles
  referencing old table as old_rows new table as new_rows for each statement execute function feed_service_account_roles();
create trigger service_account_roles_feed_deleted after delete on service_account_roles
  referencing old table as old_rows for each statement execute function feed_service_account_roles();
create trigger service_account_roles_feed_truncated after truncate on service_account_roles
  for each statement execute function feed_truncated();

create trigger api_keys_feed_updated after update on api_keys
  referencing old table as old_rows new table as new_rows for each statement execute function feed_api_keys();
create trigger api_keys_feed_deleted after delete on api_keys
  referencing old table as old_rows for each statement execute function feed_api_keys();
create trigger api_keys_feed_truncated after truncate on api_keys for each statement execute function feed_truncated();

create trigger api_key_permissions_feed_inserted after insert on api_key_permissions
  referencing new table as new_rows for each statement execute function feed_api_key_permissions();
create trigger api_key_permissions_feed_updated after update on api_key_permissions
  referencing old table as old_rows new table as new_rows for each statement execute function feed_api_key_permissions();
create trigger api_key_permissions_feed_deleted after delete on api_key_permissions
  referencing old table as old_rows for each statement execute function feed_api_key_permissions();
create trigger api_key_permissions_feed_truncated after truncate on api_key_permissions
  for each statement execute function feed_truncated();

create trigger revoked_signing_keys_feed_inserted after insert on revoked_signing_keys
  referencing new table as new_rows for each statement execute function feed_revoked_signing_keys();

-- Gives numbers to what waits, and reads the log after a position: one statement, so that a client that stops holds nothing.
-- `is_known`: the position is in the log, so `log_rows` are all that follow it, but for those of a longer list. `is_complete`: what had
-- committed before this statement is in the log, and not beyond `log_rows`.
create function feed_poll(
  after_seq bigint, after_stamp uuid,
  out is_on boolean, out is_known boolean, out is_complete boolean, out head_seq bigint, out head_stamp uuid, out log_rows jsonb
) language plpgsql as $$
declare
  -- Rows of the queue that become one row of the log, and rows of the log that one statement reads.
  most_moved constant integer := 2000;
  most_read constant integer := 100;
  base feed_state;
  moved integer;
begin
  is_complete := not exists (select from feed_queue);
  if not is_complete then
    select * into base from feed_state s where s.is_on for update skip locked;
    if found then
      -- After a crash the rows may be in the queue again, and get another stamp.
      perform set_config('synchronous_commit', 'off', true);
      with taken as (
        delete from feed_queue where id in (select id from feed_queue order by id limit most_moved)
        returning type, ref, body
      ), logged as (
        insert into feed_log (seq, changes)
        select coalesce((select max(l.seq) from feed_log l), base.seq) + 1,
          jsonb_agg(jsonb_build_object('type', t.type, 'id', t.ref) || coalesce(t.body, '{}'))
        from (select distinct type, ref, body from taken) t
        having count(*) > 0
      )
      select count(*) into moved from taken;
      is_complete := moved < most_moved;
    end if;
  end if;
  select s.is_on, coalesce(l.seq, s.seq), coalesce(l.stamp, s.stamp),
    coalesce((after_seq, after_stamp) = (coalesce(l.seq, s.seq), coalesce(l.stamp, s.stamp)), false)
  into is_on, head_seq, head_stamp, is_known
  from feed_state s left join (select seq, stamp from feed_log order by seq desc limit 1) l on true;
  if is_known or after_seq is null then
    return;
  end if;
  is_known := exists (select from feed_log l where l.seq = after_seq and l.stamp = after_stamp)
    or exists (
      select from feed_state s where s.seq = after_seq and s.stamp = after_stamp
        and s.seq + 1 = (select min(l.seq) from feed_log l));
  if is_known then
    select jsonb_agg(jsonb_build_object('seq', r.seq, 'stamp', r.stamp, 'changes', r.changes) order by r.seq) into log_rows
    from (select * from feed_log l where l.seq > after_seq order by l.seq limit most_read) r;
    if jsonb_array_length(log_rows) = most_read then
      is_complete := false;
    end if;
  end if;
end $$;

-- Keeps an hour or 50,000 rows of the log, and always the last; turns the feed off when nobody has wanted it for a day.
create function feed_upkeep() returns void language plpgsql as $$
declare
  base feed_state;
begin
  if not exists (select from feed_state where is_on) and not exists (select from feed_log)
    and not exists (select from feed_queue) then
    return;
  end if;
  select * into base from feed_state for update;
  if base.is_on and base.wanted_until < clock_timestamp() then
    update feed_state set is_on = false, wanted_until = null, stamp = gen_random_uuid(),
      seq = coalesce((select max(l.seq) from feed_log l), base.seq);
    base.is_on := false;
  end if;
  if base.is_on then
    delete from feed_log
    where seq < (select max(seq) from feed_log)
      and (at < clock_timestamp() - interval '1 hour' or seq <= (select max(seq) from feed_log) - 50000);
  else
    -- Not truncated: that would wait for every transaction that notes a change, and they for it.
    delete from feed_log;
    delete from feed_queue;
  end if;
end $$;

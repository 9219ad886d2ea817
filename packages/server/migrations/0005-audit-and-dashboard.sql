-- Reading the audit log by its filters, and a dashboard whose cost does not grow with the number of users.

-- Who the actor was at that time: entries stay readable when the account is gone.
alter table audit_logs add column actor_email text;
create index audit_logs_actor_id_timestamp_id_idx on audit_logs (actor_id, "timestamp" desc, id desc);
create index audit_logs_resource_id_timestamp_id_idx on audit_logs (resource_id, "timestamp" desc, id desc);
create index audit_logs_action_timestamp_id_idx on audit_logs (action, "timestamp" desc, id desc);
create index audit_logs_address_timestamp_id_idx on audit_logs ((details ->> 'address'), "timestamp" desc, id desc);

-- The latest successful login of each user.
create table last_logins (
  user_id uuid constraint last_logins_user_id_pkey primary key
    constraint last_logins_user_id_fkey references users (id) on delete cascade,
  logged_in_at timestamptz not null
);
insert into last_logins (user_id, logged_in_at)
  select u.id, max(a."timestamp") from audit_logs a join users u on u.id = a.actor_id
  where a.action = 'login_succeeded' group by u.id;
create index last_logins_logged_in_at_idx on last_logins (logged_in_at desc);

-- How many users there are, exactly, without counting them. The sum of the slots counts; a connection writes to the
-- slot of its own process number, so that registrations rarely wait for each other.
create table user_counts (
  slot smallint constraint user_counts_slot_pkey primary key,
  total bigint not null default 0,
  active bigint not null default 0
);
insert into user_counts (slot) select generate_series(0, 15);

create function count_users() returns trigger language plpgsql as $$
declare
  more_total bigint := 0;
  more_active bigint := 0;
begin
  if tg_op = 'TRUNCATE' then
    update user_counts set total = 0, active = 0;
    return null;
  end if;
  if tg_op in ('INSERT', 'UPDATE') then
    select count(*), count(*) filter (where is_active) into more_total, more_active from new_rows;
  end if;
  if tg_op in ('DELETE', 'UPDATE') then
    select more_total - count(*), more_active - count(*) filter (where is_active) into more_total, more_active from old_rows;
  end if;
  if more_total <> 0 or more_active <> 0 then
    update user_counts set total = total + more_total, active = active + more_active where slot = pg_backend_pid() % 16;
  end if;
  return null;
end $$;

create trigger users_count_inserted after insert on users
  referencing new table as new_rows for each statement execute function count_users();
create trigger users_count_updated after update on users
  referencing old table as old_rows new table as new_rows for each statement execute function count_users();
create trigger users_count_deleted after delete on users
  referencing old table as old_rows for each statement execute function count_users();
create trigger users_count_truncated after truncate on users
  for each statement execute function count_users();

-- After the triggers, which keep writers out until the end of this migration: nobody is counted twice or not at all.
update user_counts set total = (select count(*) from users), active = (select count(*) from users where is_active)
  where slot = 0;

create index sessions_live_expires_at_idx on sessions (expires_at) where revoked_at is null;

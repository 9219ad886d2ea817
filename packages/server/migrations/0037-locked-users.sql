-- Phase: expand
-- The locked users, with their number and the pages of their list, without looking up each lock among all users.

-- In the order in which the service locks their rows: users, then their failed sign-ins.
lock table users, user_changes, login_attempts in share row exclusive mode;

-- The active users whose sign-in was locked, by email, with the keys of the orders of the list. Right for every email that
-- neither `lock_changes` nor `user_changes` names, so all three together are exact in every snapshot.
create table locked_users (
  email text constraint locked_users_email_pkey primary key,
  id uuid not null,
  created_at timestamptz not null,
  -- In lower case.
  last_name text not null,
  verified boolean not null,
  -- The lock may have passed.
  locked_until timestamptz not null
);
create index locked_users_locked_until_idx on locked_users (locked_until);

-- Emails whose locks have changed since `locked_users` was written. A job takes them off. Writers only insert, so they never
-- wait for each other.
create table lock_changes (
  email text not null
);
-- A publication of all tables may delete its rows then: several may be equal.
alter table lock_changes replica identity full;

create function log_lock() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    insert into lock_changes (email) select email from locked_users;
    return null;
  end if;
  if tg_op <> 'INSERT' then
    insert into lock_changes (email) values (old.email);
  end if;
  if tg_op <> 'DELETE' and (tg_op = 'INSERT' or new.email <> old.email) then
    insert into lock_changes (email) values (new.email);
  end if;
  return null;
end $$;
create trigger login_attempts_log_inserted after insert on login_attempts
  for each row when (new.locked_until is not null) execute function log_lock();
create trigger login_attempts_log_updated after update of email, locked_until on login_attempts
  for each row when ((old.email, old.locked_until) is distinct from (new.email, new.locked_until)) execute function log_lock();
create trigger login_attempts_log_deleted after delete on login_attempts
  for each row when (old.locked_until is not null) execute function log_lock();
create trigger login_attempts_log_truncated after truncate on login_attempts
  for each statement execute function log_lock();

-- Writes what is true of the emails that a job takes off a log. As a trigger, so that an instance of the last release, which
-- takes changes of users off, does it too. Such jobs take turns (`user_marks`, an advisory lock).
-- `execute` plans for the number of rows: few or tens of thousands.
create function list_locked() returns trigger language plpgsql as $$
begin
  execute 'delete from locked_users where email in (select email from old_rows)';
  execute '
    insert into locked_users (email, id, created_at, last_name, verified, locked_until)
    select u.email, u.id, u.created_at, lower(u.last_name), u.verified, a.locked_until
    from (select distinct email from old_rows) c
    cross join lateral (select * from login_attempts a where a.email = c.email offset 0) a
    cross join lateral (select * from users u where u.email = a.email offset 0) u
    where a.locked_until is not null and u.is_active';
  return null;
end $$;
create trigger lock_changes_list_deleted after delete on lock_changes
  referencing old table as old_rows for each statement execute function list_locked();
create trigger user_changes_list_deleted after delete on user_changes
  referencing old table as old_rows for each statement execute function list_locked();

create function unlist_locked() returns trigger language plpgsql as $$
begin
  delete from locked_users;
  return null;
end $$;
create trigger users_unlist_locked_truncated after truncate on users
  for each statement execute function unlist_locked();

-- After the triggers: no lock is missed.
insert into lock_changes (email) select email from login_attempts where locked_until is not null;

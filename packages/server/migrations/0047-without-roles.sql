-- Phase: expand
-- The users without roles are marked in their own rows, by the trigger that counts holders. This replaces the list of migration
-- 0035, which the last release does not know.

-- In the order in which the service locks their rows: users, then their roles.
alter table users add column without_roles boolean not null default false;
-- Users begin without roles. Those of before are marked by the job, because reading all of them would keep writers out.
alter table users alter column without_roles set default true;

drop trigger users_list_inserted on users;
drop trigger users_list_updated on users;
drop trigger users_list_deleted on users;
drop trigger users_list_truncated on users;
drop trigger user_roles_list_inserted on user_roles;
drop trigger user_roles_list_updated on user_roles;
drop trigger user_roles_list_deleted on user_roles;
drop trigger user_roles_list_truncated on user_roles;
drop function list_new_user(), list_changed_user(), unlist_deleted_users(), list_by_roles(), list_without_roles(uuid[]),
  unlist_without_roles(uuid[]);
drop table users_without_roles, without_roles_marks, without_roles_changes, without_roles_listing;

-- Writes a user's row only where the user gets the first role or loses the last one: a column in the condition of an index
-- makes an update write all indexes.
create or replace function count_role_holders() returns trigger language plpgsql as $$
declare
  changed uuid[];
begin
  if tg_op = 'TRUNCATE' then
    delete from role_holder_changes;
    update users set without_roles = true where not without_roles;
    return null;
  end if;
  -- Two transactions that change the roles of one user take turns: each must see what the other one left. The service has
  -- locked these rows before. The orders and limits make the planner read the index for each user, and not all assignments.
  if tg_op = 'INSERT' then
    perform from users where id in (select user_id from new_rows) order by id for no key update;
    insert into role_holder_changes (role_id, change)
    select role_id, count(*) from new_rows group by role_id
    union all
    select null, count(*) from (select user_id, count(*) as added from new_rows group by user_id) n
    where n.added = (select count(*) from (
      select from user_roles r where r.user_id = n.user_id order by r.role_id limit n.added + 1) held)
    having count(*) > 0;
  elsif tg_op = 'DELETE' then
    perform from users where id in (select user_id from old_rows) order by id for no key update;
    insert into role_holder_changes (role_id, change)
    select role_id, -count(*) from old_rows group by role_id
    union all
    select null, -count(*) from (select distinct user_id from old_rows) o
    where (select true from user_roles r where r.user_id = o.user_id order by r.role_id limit 1) is null
    having count(*) > 0;
  else
    -- The service never updates an assignment.
    perform from users where id in (select user_id from old_rows union select user_id from new_rows)
      order by id for no key update;
    insert into role_holder_changes default values;
  end if;
  -- Most changes find nobody. An update of no rows would run the triggers of the table all the same.
  if tg_op in ('INSERT', 'UPDATE') then
    changed := array(select id from users where id in (select user_id from new_rows) and without_roles);
    if changed <> '{}' then
      update users set without_roles = false where id = any(changed);
    end if;
  end if;
  if tg_op in ('DELETE', 'UPDATE') then
    changed := array(select u.id from users u
      where u.id in (select user_id from old_rows) and not u.without_roles
        and (select true from user_roles r where r.user_id = u.id order by r.role_id limit 1) is null);
    if changed <> '{}' then
      update users set without_roles = true where id = any(changed);
    end if;
  end if;
  return null;
end $$;

drop trigger user_roles_count_updated on user_roles;
create trigger user_roles_count_updated after update on user_roles
  referencing old table as old_rows new table as new_rows for each statement execute function count_role_holders();

create index users_without_roles_created_at_id_idx on users (created_at, id) where without_roles;
create index users_without_roles_email_id_idx on users (email, id) where without_roles;
create index users_without_roles_last_name_id_idx on users (lower(last_name), id) include (last_name) where without_roles;

-- Lists do not read the marks before the job has set them.
insert into role_holder_changes default values;

-- Phase: expand
-- How many users have a role, and how many have each role, exactly, without reading every assignment.

-- The sum of the changes counts, for each role and, without a role, for users with any role. Writers only insert, so they
-- never wait for each other; a job adds the rows up. A row without a number says that the sums are wrong until the job has
-- counted all assignments.
create table role_holder_changes (
  role_id uuid,
  change bigint
);
create index role_holder_changes_role_id_idx on role_holder_changes (role_id) include (change);
create index role_holder_changes_wrong_idx on role_holder_changes (role_id) where change is null;

create function count_role_holders() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    delete from role_holder_changes;
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
    insert into role_holder_changes default values;
  end if;
  return null;
end $$;

create trigger user_roles_count_inserted after insert on user_roles
  referencing new table as new_rows for each statement execute function count_role_holders();
create trigger user_roles_count_updated after update on user_roles
  for each statement execute function count_role_holders();
create trigger user_roles_count_deleted after delete on user_roles
  referencing old table as old_rows for each statement execute function count_role_holders();
create trigger user_roles_count_truncated after truncate on user_roles
  for each statement execute function count_role_holders();

-- Counting would keep writers out for longer than an upgrade may.
insert into role_holder_changes default values;

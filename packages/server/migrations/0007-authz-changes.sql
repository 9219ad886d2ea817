-- Renewing the compiled role → permission graph by what changed, and knowing it by a value that never repeats.

-- A version may repeat after a restore or a failover; a random stamp does not. Both change with every statement that
-- changes the graph. The row's lock makes such transactions commit one after the other.
alter table authz_version add column stamp uuid not null default gen_random_uuid();

-- The latest 1,000 changes, a ring: the size is bounded without anybody removing rows. Each row links the stamp before
-- to the stamp after, so that a reader can tell whether the rows lead from its own stamp to the present one.
create table authz_changes (
  slot smallint constraint authz_changes_slot_pkey primary key,
  version bigint not null,
  previous_stamp uuid not null,
  stamp uuid not null,
  -- What was touched: added, changed or removed. Null: too many to list, or all.
  role_ids uuid[],
  permission_ids uuid[]
) with (fillfactor = 50);

-- More ids than this are not listed: reading everything then costs little more.
create function authz_ids(ids uuid[]) returns uuid[] language sql immutable as $$
  select case when cardinality(ids) <= 1000 then ids end
$$;

create function record_authz_change(changed_role_ids uuid[], changed_permission_ids uuid[]) returns void
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
end $$;

create function record_role_change() returns trigger language plpgsql as $$
declare
  ids uuid[];
begin
  if tg_op = 'INSERT' then
    select array_agg(id) into ids from (select id from new_rows limit 1001) touched;
  elsif tg_op = 'DELETE' then
    select array_agg(id) into ids from (select id from old_rows limit 1001) touched;
  else
    select array_agg(id) into ids from (
      select id from (
        (select id, name, description, is_system from old_rows except select id, name, description, is_system from new_rows)
        union all
        (select id, name, description, is_system from new_rows except select id, name, description, is_system from old_rows)
      ) differing
      group by id limit 1001) touched;
  end if;
  perform record_authz_change(authz_ids(coalesce(ids, '{}')), '{}');
  return null;
end $$;

create function record_permission_change() returns trigger language plpgsql as $$
declare
  ids uuid[];
begin
  if tg_op = 'INSERT' then
    select array_agg(id) into ids from (select id from new_rows limit 1001) touched;
  elsif tg_op = 'DELETE' then
    select array_agg(id) into ids from (select id from old_rows limit 1001) touched;
  else
    select array_agg(id) into ids from (
      select id from (
        (select id, name from old_rows except select id, name from new_rows)
        union all
        (select id, name from new_rows except select id, name from old_rows)
      ) differing
      group by id limit 1001) touched;
  end if;
  perform record_authz_change('{}', authz_ids(coalesce(ids, '{}')));
  return null;
end $$;

create function record_role_permission_change() returns trigger language plpgsql as $$
declare
  ids uuid[];
begin
  if tg_op = 'INSERT' then
    select array_agg(role_id) into ids from (select distinct role_id from new_rows limit 1001) touched;
  elsif tg_op = 'DELETE' then
    select array_agg(role_id) into ids from (select distinct role_id from old_rows limit 1001) touched;
  else
    select array_agg(role_id) into ids from (
      select role_id from old_rows union select role_id from new_rows limit 1001) touched;
  end if;
  perform record_authz_change(authz_ids(coalesce(ids, '{}')), '{}');
  return null;
end $$;

create function record_authz_truncate() returns trigger language plpgsql as $$
begin
  perform record_authz_change(null, null);
  return null;
end $$;

drop trigger roles_raise_authz_version on roles;
drop trigger permissions_raise_authz_version on permissions;
drop trigger role_permissions_raise_authz_version on role_permissions;
drop function raise_authz_version();

create trigger roles_record_inserted after insert on roles
  referencing new table as new_rows for each statement execute function record_role_change();
create trigger roles_record_updated after update on roles
  referencing old table as old_rows new table as new_rows for each statement execute function record_role_change();
create trigger roles_record_deleted after delete on roles
  referencing old table as old_rows for each statement execute function record_role_change();
create trigger roles_record_truncated after truncate on roles
  for each statement execute function record_authz_truncate();

create trigger permissions_record_inserted after insert on permissions
  referencing new table as new_rows for each statement execute function record_permission_change();
create trigger permissions_record_updated after update on permissions
  referencing old table as old_rows new table as new_rows for each statement execute function record_permission_change();
create trigger permissions_record_deleted after delete on permissions
  referencing old table as old_rows for each statement execute function record_permission_change();
create trigger permissions_record_truncated after truncate on permissions
  for each statement execute function record_authz_truncate();

create trigger role_permissions_record_inserted after insert on role_permissions
  referencing new table as new_rows for each statement execute function record_role_permission_change();
create trigger role_permissions_record_updated after update on role_permissions
  referencing old table as old_rows new table as new_rows for each statement execute function record_role_permission_change();
create trigger role_permissions_record_deleted after delete on role_permissions
  referencing old table as old_rows for each statement execute function record_role_permission_change();
create trigger role_permissions_record_truncated after truncate on role_permissions
  for each statement execute function record_authz_truncate();

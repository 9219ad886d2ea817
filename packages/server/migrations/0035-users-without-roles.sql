-- Phase: expand
-- The users without roles, with their exact number and the pages of their list, without reading all users.

-- They, with the keys of the orders of the list.
create table users_without_roles (
  id uuid constraint users_without_roles_id_pkey primary key,
  created_at timestamptz not null,
  email text not null,
  -- In lower case.
  last_name text not null
);
create index users_without_roles_created_at_id_idx on users_without_roles (created_at, id);
create index users_without_roles_email_id_idx on users_without_roles (email, id);
create index users_without_roles_last_name_id_idx on users_without_roles (last_name, id);

-- Every so many of them in an order: how many come before this one. `without_roles_changes` lists what has happened since
-- these numbers were written, so both together are exact in every snapshot. The row of the order `end` has no user: it
-- counts all of them.
create table without_roles_marks (
  "order" text not null,
  id uuid not null,
  created_at timestamptz,
  email text,
  last_name text,
  before bigint not null,
  constraint without_roles_marks_order_id_pkey primary key ("order", id),
  constraint without_roles_marks_order_check check ("order" in ('created_at', 'email', 'last_name', 'end'))
);
insert into without_roles_marks ("order", id, before) values ('end', '00000000-0000-0000-0000-000000000000', 0);

-- A user who came (1) or went (-1). A job adds these rows to the marks. Writers only insert, so they never wait for each other.
create table without_roles_changes (
  id uuid not null,
  created_at timestamptz not null,
  email text not null,
  last_name text not null,
  change smallint not null
);
-- A publication of all tables may delete its rows then: several may be equal.
alter table without_roles_changes replica identity full;

-- While it has a row, only the users up to this id are listed (null: none), beside those who have changed meanwhile. A job
-- lists the others, because that would keep writers out for longer than an upgrade may.
create table without_roles_listing (
  only_row boolean constraint without_roles_listing_only_row_pkey primary key default true,
  listed_to uuid,
  constraint without_roles_listing_only_row_check check (only_row)
);

-- Lists those of the users who have no role. The caller has locked their rows or created them, so that nobody gives them a
-- role meanwhile. The order and the limit make the planner read the index for each user, and not all assignments.
create function list_without_roles(ids uuid[]) returns void language plpgsql as $$
begin
  with come as (
    insert into users_without_roles (id, created_at, email, last_name)
    select u.id, u.created_at, u.email, lower(u.last_name) from users u
    where u.id = any(ids) and (select true from user_roles r where r.user_id = u.id order by r.role_id limit 1) is null
    on conflict (id) do nothing
    returning id, created_at, email, last_name)
  insert into without_roles_changes (id, created_at, email, last_name, change)
  select id, created_at, email, last_name, 1 from come;
end $$;

create function unlist_without_roles(ids uuid[]) returns void language plpgsql as $$
begin
  with gone as (
    delete from users_without_roles where id = any(ids) returning id, created_at, email, last_name)
  insert into without_roles_changes (id, created_at, email, last_name, change)
  select id, created_at, email, last_name, -1 from gone;
end $$;

-- At the end of the transaction: until then, most new users have got a role.
create function list_new_user() returns trigger language plpgsql as $$
begin
  if not exists (select from user_roles where user_id = new.id) then
    perform list_without_roles(array[new.id]);
  end if;
  return null;
end $$;
create constraint trigger users_list_inserted after insert on users deferrable initially deferred
  for each row execute function list_new_user();

create function list_changed_user() returns trigger language plpgsql as $$
begin
  if exists (select from users_without_roles where id = old.id) then
    perform unlist_without_roles(array[old.id]);
    perform list_without_roles(array[new.id]);
  end if;
  return null;
end $$;
create trigger users_list_updated after update of id, created_at, email, last_name on users
  for each row when ((old.id, old.created_at, old.email, lower(old.last_name))
    is distinct from (new.id, new.created_at, new.email, lower(new.last_name)))
  execute function list_changed_user();

create function unlist_deleted_users() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    delete from users_without_roles;
    delete from without_roles_changes;
    delete from without_roles_marks where "order" <> 'end';
    update without_roles_marks set before = 0;
  else
    perform unlist_without_roles(array(select id from old_rows));
  end if;
  return null;
end $$;
create trigger users_list_deleted after delete on users
  referencing old table as old_rows for each statement execute function unlist_deleted_users();
create trigger users_list_truncated after truncate on users
  for each statement execute function unlist_deleted_users();

create function list_by_roles() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    insert into without_roles_listing default values on conflict (only_row) do update set listed_to = null;
    return null;
  end if;
  -- Two transactions that change the roles of one user take turns: each must see what the other one left.
  if tg_op in ('DELETE', 'UPDATE') then
    perform from users where id in (select user_id from old_rows) order by id for no key update;
    perform list_without_roles(array(select distinct user_id from old_rows));
  end if;
  if tg_op in ('INSERT', 'UPDATE') then
    perform from users where id in (select user_id from new_rows) order by id for no key update;
    perform unlist_without_roles(array(select distinct user_id from new_rows));
  end if;
  return null;
end $$;
create trigger user_roles_list_inserted after insert on user_roles
  referencing new table as new_rows for each statement execute function list_by_roles();
create trigger user_roles_list_updated after update on user_roles
  referencing old table as old_rows new table as new_rows for each statement execute function list_by_roles();
create trigger user_roles_list_deleted after delete on user_roles
  referencing old table as old_rows for each statement execute function list_by_roles();
create trigger user_roles_list_truncated after truncate on user_roles
  for each statement execute function list_by_roles();

-- After the triggers: nobody is missed. A new database has nobody to list.
insert into without_roles_listing (listed_to) select null where exists (select from users);

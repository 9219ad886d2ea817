-- Pages and totals of the list of users whose cost does not grow with the number of users, and searches for one or two
-- characters.

-- Every so many users of an order: how many users of each kind come before this one. `user_changes` lists what has
-- happened since these numbers were written, so both together are exact in every snapshot. The row of the order `end`
-- has no user: it counts all of them.
create table user_marks (
  "order" text not null,
  id uuid not null,
  created_at timestamptz,
  email text,
  -- In lower case.
  last_name text,
  active_verified bigint not null,
  active_unverified bigint not null,
  inactive_verified bigint not null,
  inactive_unverified bigint not null,
  constraint user_marks_order_id_pkey primary key ("order", id),
  constraint user_marks_order_check check ("order" in ('created_at', 'email', 'last_name', 'end'))
);

-- A user who appeared (1) or disappeared (-1), with the values that count. A job adds these rows to the marks. Writers
-- only insert, so they never wait for each other.
create table user_changes (
  id uuid not null,
  created_at timestamptz not null,
  email text not null,
  last_name text not null,
  is_active boolean not null,
  verified boolean not null,
  change smallint not null
);

create or replace function count_users() returns trigger language plpgsql as $$
declare
  more_total bigint := 0;
  more_active bigint := 0;
begin
  if tg_op = 'TRUNCATE' then
    update user_counts set total = 0, active = 0;
    delete from user_changes;
    delete from user_marks where "order" <> 'end';
    update user_marks
      set active_verified = 0, active_unverified = 0, inactive_verified = 0, inactive_unverified = 0;
    return null;
  end if;
  if tg_op = 'UPDATE' then
    -- Most updates change nothing that counts. `not is_distinct` rows would cancel each other out.
    insert into user_changes (id, created_at, email, last_name, is_active, verified, change)
    select c.* from old_rows o join new_rows n on n.id = o.id cross join lateral (values
      (o.id, o.created_at, o.email, lower(o.last_name), o.is_active, o.verified, -1::smallint),
      (n.id, n.created_at, n.email, lower(n.last_name), n.is_active, n.verified, 1::smallint)) c
    where (o.created_at, o.email, lower(o.last_name), o.is_active, o.verified)
      is distinct from (n.created_at, n.email, lower(n.last_name), n.is_active, n.verified);
  elsif tg_op = 'INSERT' then
    insert into user_changes (id, created_at, email, last_name, is_active, verified, change)
    select id, created_at, email, lower(last_name), is_active, verified, 1 from new_rows;
  else
    insert into user_changes (id, created_at, email, last_name, is_active, verified, change)
    select id, created_at, email, lower(last_name), is_active, verified, -1 from old_rows;
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

-- Keeps writers out until the end of this migration: nobody is counted twice or not at all.
lock table users in share row exclusive mode;
insert into user_marks ("order", id, active_verified, active_unverified, inactive_verified, inactive_unverified)
select 'end', '00000000-0000-0000-0000-000000000000', count(*) filter (where is_active and verified),
  count(*) filter (where is_active and not verified), count(*) filter (where not is_active and verified),
  count(*) filter (where not is_active and not verified)
from users;

-- Few accounts are closed or unverified, and lists of them are in this order by default.
create index users_inactive_created_at_id_idx on users (created_at, id) where not is_active;
create index users_unverified_created_at_id_idx on users (created_at, id) where not verified;

-- Every character of a text and every two neighbors: what the index on trigrams cannot find. The cost keeps the planner from
-- calling it for each row instead of reading the index.
create function short_parts(content text) returns text[] language plpgsql immutable strict parallel safe cost 1000 as $$
declare
  characters text[] := string_to_array(content, null);
begin
  return characters || array(
    select one || next from unnest(characters, characters[2:]) as pair (one, next) where next is not null);
end $$;
create index users_short_parts_idx on users using gin (short_parts(search_text));

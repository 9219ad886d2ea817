-- Phase: expand
-- The marks of migration 0022 tell how many users there are, so the counters of migration 0005 go: writers of users no longer
-- wait for each other's counter.

create or replace function count_users() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    delete from user_changes;
    delete from user_marks where "order" <> 'end';
    update user_marks
      set active_verified = 0, active_unverified = 0, inactive_verified = 0, inactive_unverified = 0;
  elsif tg_op = 'UPDATE' then
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
  return null;
end $$;

drop table user_counts;
-- For the last release, which reads these sums. The next one drops the view.
create view user_counts as
  select 0::smallint as slot, m.active_verified + m.active_unverified + m.inactive_verified + m.inactive_unverified
      + coalesce(c.total, 0) as total,
    m.active_verified + m.active_unverified + coalesce(c.active, 0) as active
  from user_marks m cross join (
    select sum(change) as total, sum(change) filter (where is_active) as active from user_changes) c
  where m."order" = 'end';

-- What happened on each day, for the dashboard: exact, in a few rows a day, however long the audit log is and however
-- short it is kept.

-- How many events an entry stands for: some entries only count what was left out.
create function events_of_entry(details jsonb) returns bigint language sql immutable parallel safe
  return case when jsonb_typeof(details -> 'more_left_out') = 'number' then (details ->> 'more_left_out')::numeric::bigint
    else 1 end;

-- The sum of the slots counts; a connection writes to the slot of its own process number, so that writers rarely wait for
-- each other. Days are those of UTC. Half-filled pages keep the counting on its page, without touching the index.
create table activity_days (
  day date not null,
  slot smallint not null,
  sign_ins bigint not null,
  refusals bigint not null,
  registrations bigint not null,
  constraint activity_days_day_slot_pkey primary key (day, slot)
) with (fillfactor = 50);

-- In the statement that writes the entries, whichever version of the service sends it. Sorted, so that two writers of two
-- days lock them in the same order.
create function count_activity() returns trigger language plpgsql as $$
begin
  insert into activity_days as d (day, slot, sign_ins, refusals, registrations)
  select ("timestamp" at time zone 'UTC')::date, pg_backend_pid() % 16,
    coalesce(sum(events_of_entry(details)) filter (where action = 'login_succeeded'), 0),
    coalesce(sum(events_of_entry(details)) filter (where action = 'login_failed'), 0),
    coalesce(sum(events_of_entry(details)) filter (where action = 'user_registered'), 0)
  from new_rows where action in ('login_succeeded', 'login_failed', 'user_registered')
  group by 1 order by 1
  on conflict (day, slot) do update set sign_ins = d.sign_ins + excluded.sign_ins,
    refusals = d.refusals + excluded.refusals, registrations = d.registrations + excluded.registrations;
  return null;
end $$;
create trigger audit_logs_count_activity after insert on audit_logs
  referencing new table as new_rows for each statement execute function count_activity();

-- After the trigger, which keeps writers out until the end of this migration: no entry is counted twice or not at all. The
-- dashboard shows 90 days at most.
insert into activity_days (day, slot, sign_ins, refusals, registrations)
select ("timestamp" at time zone 'UTC')::date, 0,
  coalesce(sum(events_of_entry(details)) filter (where action = 'login_succeeded'), 0),
  coalesce(sum(events_of_entry(details)) filter (where action = 'login_failed'), 0),
  coalesce(sum(events_of_entry(details)) filter (where action = 'user_registered'), 0)
from audit_logs
where action in ('login_succeeded', 'login_failed', 'user_registered')
  and "timestamp" >= (date_trunc('day', now() at time zone 'UTC') - interval '90 days') at time zone 'UTC'
group by 1;

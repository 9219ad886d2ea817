-- Phase: expand
-- The end of a user's sessions reads as many of them as it counts, whatever the statistics of the table say.

-- Counts the open sessions of an epoch of a user, up to `most`. With equal costs the planner may read all sessions of the user
-- by another index; without a sort it can only use sessions_open_of_user_idx.
create function count_open_sessions(owner uuid, of_epoch integer, most integer) returns integer
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
  select count(*)::integer from (
    select from sessions s
    where s.user_id = owner and s.epoch = of_epoch and s.revoked_at is null and s.expires_at > now()
    order by s.expires_at limit most) s
$$;

create or replace function count_live_sessions_of_user() returns trigger language plpgsql as $$
declare
  most constant integer := 1000;
  open_sessions integer;
begin
  if old.is_active then
    open_sessions := count_open_sessions(old.id, old.session_epoch, most + 1);
    if open_sessions > most then
      insert into live_session_recounts (user_id, epoch) values (old.id, old.session_epoch);
    elsif open_sessions > 0 then
      insert into live_session_changes (expires_in, change)
      select ten_minutes(s.expires_at), -count(*) from sessions s
      where s.user_id = old.id and s.revoked_at is null and s.epoch = old.session_epoch and s.expires_at > now()
      group by 1;
    end if;
  end if;
  if tg_op = 'UPDATE' and new.is_active then
    open_sessions := count_open_sessions(new.id, new.session_epoch, most + 1);
    -- The service never brings sessions back. Somebody who does it in SQL may find too many, or some not yet taken off.
    if open_sessions > most
      or exists (select from live_session_recounts r where r.user_id = new.id and r.epoch = new.session_epoch) then
      insert into live_session_recounts default values;
    elsif open_sessions > 0 then
      insert into live_session_changes (expires_in, change)
      select ten_minutes(s.expires_at), count(*) from sessions s
      where s.user_id = new.id and s.revoked_at is null and s.epoch = new.session_epoch and s.expires_at > now()
      group by 1;
    end if;
  end if;
  return null;
end $$;

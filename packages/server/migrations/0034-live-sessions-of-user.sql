-- Phase: expand
-- After the end of very many sessions of one user, only that user's sessions are counted, not all sessions.

-- A row with a user: all sessions of this epoch of the user have ended, and the kept numbers still include those that are
-- open. Readers subtract them; the job takes them off before it touches their rows. A row without a user: the numbers are
-- wrong until the job has counted all sessions. Instances of the version before this one count all sessions for both.
alter table live_session_recounts add column user_id uuid, add column epoch integer;

create or replace function count_live_sessions_of_user() returns trigger language plpgsql as $$
declare
  most constant integer := 1000;
  open_sessions integer;
begin
  if old.is_active then
    select count(*) into open_sessions from (
      select from sessions s
      where s.user_id = old.id and s.revoked_at is null and s.epoch = old.session_epoch and s.expires_at > now()
      limit most + 1) s;
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
    select count(*) into open_sessions from (
      select from sessions s
      where s.user_id = new.id and s.revoked_at is null and s.epoch = new.session_epoch and s.expires_at > now()
      limit most + 1) s;
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

-- Phase: expand
-- Locks: applications, access_grants
-- Ends every grant of an application at once, however many there are: those of an earlier epoch are dead, also after the
-- application is active again.

alter table applications add column access_epoch integer not null default 0;
-- `applications.access_epoch` of then.
alter table access_grants add column application_epoch integer not null default 0;

-- Applications whose ended grants are still rows. The clean-up removes them.
create table application_ends (
  id bigint generated always as identity constraint application_ends_id_pkey primary key,
  application_id uuid not null,
  -- Grants of epochs before this one have ended; null: all.
  before_epoch integer
);

create function set_application_epoch() returns trigger language plpgsql as $$
begin
  new.application_epoch := coalesce((select access_epoch from applications where id = new.application_id), 0);
  return new;
end $$;
create trigger access_grants_set_application_epoch before insert on access_grants
  for each row execute function set_application_epoch();

create function raise_access_epoch() returns trigger language plpgsql as $$
begin
  new.access_epoch := old.access_epoch + 1;
  return new;
end $$;
create trigger applications_raise_access_epoch before update of is_active on applications
  for each row when (old.is_active and not new.is_active) execute function raise_access_epoch();

create function note_application_end() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into application_ends (application_id) values (old.id);
  else
    insert into application_ends (application_id, before_epoch) values (old.id, new.access_epoch);
    -- Nothing is sent to an inactive application, not even later.
    perform tell_applications(null, null, old.id, 'access_ended');
  end if;
  return null;
end $$;
-- Without a column list, because the trigger above changes a column that the statement does not name.
create trigger applications_note_end after update on applications
  for each row when (new.access_epoch > old.access_epoch) execute function note_application_end();
create trigger applications_note_deletion after delete on applications
  for each row execute function note_application_end();

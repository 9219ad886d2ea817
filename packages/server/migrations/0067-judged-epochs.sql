-- Phase: expand
-- Locks: access_grants
-- A grant is of the epoch in which its request was judged, which its writer tells. The trigger reads the row of the application
-- later than the statement that it runs in, so that a grant that was judged before an end could be of the epoch after it. It
-- serves writers that tell none.
alter table access_grants alter column application_epoch drop default;
drop trigger access_grants_set_application_epoch on access_grants;
create trigger access_grants_set_application_epoch before insert on access_grants
  for each row when (new.application_epoch is null) execute function set_application_epoch();

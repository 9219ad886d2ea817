-- Phase: expand
-- Telling readers whether a list of roles, permissions or groups has changed, without reading the list.

-- The stamp of authz_version covers names, descriptions and permissions of roles. This one covers the other fields of the
-- lists: groups, authors and times. It is random, so that it never repeats after a restore or a failover.
create table catalogue_version (
  only_row boolean constraint catalogue_version_only_row_pkey primary key default true,
  stamp uuid not null default gen_random_uuid(),
  constraint catalogue_version_only_row_check check (only_row)
);
insert into catalogue_version default values;

-- Runs at the end of the transaction, when it waits for no other lock, so that the row's lock causes no deadlock. Once a
-- transaction is enough, however many rows it changed.
create function record_catalogue_change() returns trigger language plpgsql as $$
begin
  if current_setting('castellan.catalogue_changed_by', true) is distinct from pg_current_xact_id()::text then
    update catalogue_version set stamp = gen_random_uuid();
    perform set_config('castellan.catalogue_changed_by', pg_current_xact_id()::text, true);
  end if;
  return null;
end $$;

-- Additions and removals of roles and permissions, and of links between them, change the other stamp.
create constraint trigger roles_record_catalogue_change after update on roles
  deferrable initially deferred for each row execute function record_catalogue_change();
create constraint trigger permissions_record_catalogue_change after update on permissions
  deferrable initially deferred for each row execute function record_catalogue_change();
create constraint trigger role_groups_record_catalogue_change after insert or update or delete on role_groups
  deferrable initially deferred for each row execute function record_catalogue_change();
create constraint trigger role_group_roles_record_catalogue_change after insert or update or delete on role_group_roles
  deferrable initially deferred for each row execute function record_catalogue_change();
create constraint trigger permission_groups_record_catalogue_change after insert or update or delete on permission_groups
  deferrable initially deferred for each row execute function record_catalogue_change();

-- Accounts that registered themselves and await verification. The columns stand in 0006-session-ends.

-- The version tells readers of the record about changes. What the record does not show leaves its ETag alone.
drop trigger users_raise_record_version on users;
create trigger users_raise_record_version
  before update of email, first_name, last_name, is_active, is_superuser, verified, updated_at on users
  for each row execute function raise_record_version();

-- Whoever verifies an account, by whatever path, ends its registration for good.
create function end_registration() returns trigger language plpgsql as $$
begin
  new.pending_registration := false;
  return new;
end $$;
create trigger users_end_registration before insert or update on users
  for each row when (new.verified and new.pending_registration) execute function end_registration();

-- Accounts from before this column: those whose registration is on record and who were never verified since.
update users u set pending_registration = true
where not u.verified and not u.is_superuser
  and exists (select from audit_logs a where a.resource_id = u.id::text and a.action = 'user_registered')
  and not exists (select from last_logins l where l.user_id = u.id)
  and not exists (
    select from audit_logs a where a.resource_id = u.id::text and (
      a.action = 'email_verified' or a.action = 'user_updated' and a.details -> 'after' ? 'verified'));

drop index users_unverified_created_at_idx;
create index users_pending_registration_created_at_idx on users (created_at)
  where pending_registration and is_active and not is_superuser;

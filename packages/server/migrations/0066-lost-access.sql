-- Phase: expand
-- Locks: users, user_roles
-- When people may have lost the permission that an application requires, so that a job looks for them only then. A sequence,
-- because nobody waits for one.
create sequence access_losses;

create function note_access_loss() returns trigger language plpgsql as $$
begin
  perform nextval('access_losses');
  return null;
end $$;
create trigger user_roles_note_access_loss after delete or update or truncate on user_roles
  for each statement execute function note_access_loss();
create trigger users_note_access_loss after update of is_superuser on users
  for each row when (old.is_superuser and not new.is_superuser) execute function note_access_loss();

-- What the job found when it last looked at everybody.
create table lost_access_checks (
  only_row boolean default true
    constraint lost_access_checks_only_row_pkey primary key
    constraint lost_access_checks_only_row_check check (only_row),
  seen text not null,
  -- Since when that has not changed.
  seen_at timestamptz not null default now(),
  checked_at timestamptz not null default now()
);

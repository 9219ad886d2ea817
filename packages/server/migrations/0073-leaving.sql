-- Phase: expand
-- Locks: users, one_time_tokens
-- People who delete their own account, and accounts that administrators erase.

-- When the clean-up removes an account that its owner deleted. Null for all others. Such an account is not active.
alter table users add column deletion_due_at timestamptz;
create index users_deletion_due_at_idx on users (deletion_due_at) where deletion_due_at is not null;

-- An account that is active again stays, by whatever path it came to that: an instance of the release before this one, which knows no
-- deletion by owners, can activate it.
create function end_deletion() returns trigger language plpgsql as $$
begin
  new.deletion_due_at := null;
  return new;
end $$;
create trigger users_end_deletion before insert or update on users
  for each row when (new.deletion_due_at is not null and new.is_active)
  execute function end_deletion();

-- The purposes of links that change the address of an account, take that back, and keep an account. Wider than before, as in 0070.
alter table one_time_tokens drop constraint one_time_tokens_purpose_check;
alter table one_time_tokens add constraint one_time_tokens_purpose_check
  check (purpose in ('verify_email', 'reset_password', 'recover', 'invitation', 'change_email', 'revert_email',
    'undo_deletion')) not valid;

-- Erased accounts whose audit entries are not all erased yet. The row goes with the last of them.
create table erasures (
  user_id uuid constraint erasures_user_id_pkey primary key,
  email text not null,
  -- Who erased the account, for the entry at the end.
  actor_id uuid not null,
  actor_type text not null,
  actor_name text,
  actor_key_id uuid,
  -- What went with the account.
  roles integer not null,
  sessions integer not null,
  -- Entries erased so far.
  entries integer not null default 0,
  -- Where to go on: among the entries by the user, about them, or with their address.
  stage text not null default 'actor' constraint erasures_stage_check check (stage in ('actor', 'resource', 'email')),
  after_time timestamptz,
  after_id uuid,
  created_at timestamptz not null default now()
);

-- Entries that name an address and no account, such as sign-ins to an address that had none. Operators may create it concurrently before.
create index if not exists audit_logs_email_idx on audit_logs ((details ->> 'email')) where details ->> 'email' is not null;

-- Phase: expand
-- Locks: users, one_time_tokens
-- Invitations: accounts without a password, whose owners have yet to accept them by a mailed link.

-- `invited_at` is null for every account that nobody has to accept. `invitation_sent_at` is null until the mail is written; from then on,
-- the link works until `invitation_expires_at`. `invitation_hours` is how long a link of this invitation works.
alter table users
  add column invited_at timestamptz,
  add column invitation_hours smallint,
  add column invitation_sent_at timestamptz,
  add column invitation_expires_at timestamptz;

-- An administrator may not know the name of the person they invite. Wider than before, so every release's writes satisfy it.
alter table users drop constraint users_first_name_check;
alter table users
  add constraint users_first_name_check check (char_length(first_name) <= 100) not valid,
  add constraint users_first_name_invited_at_check check (first_name <> '' or invited_at is not null) not valid;

create index users_invitation_expires_at_idx on users (invitation_expires_at) where invited_at is not null;

-- An account with a password or a verified address is no longer invited, by whatever path it came to them. An instance of the release
-- before this one, which knows no invitations, can set both.
create function end_invitation() returns trigger language plpgsql as $$
begin
  new.invited_at := null;
  new.invitation_hours := null;
  new.invitation_sent_at := null;
  new.invitation_expires_at := null;
  -- People without a name are called as their address begins, as in an import.
  if new.first_name = '' then
    new.first_name := split_part(new.email, '@', 1);
  end if;
  return new;
end $$;
create trigger users_end_invitation before insert or update on users
  for each row when (new.invited_at is not null and (new.verified or new.password_hash is not null))
  execute function end_invitation();

-- The purpose of a link that accepts an invitation. Wider than before, as in 0053.
alter table one_time_tokens drop constraint one_time_tokens_purpose_check;
alter table one_time_tokens add constraint one_time_tokens_purpose_check
  check (purpose in ('verify_email', 'reset_password', 'recover', 'invitation')) not valid;

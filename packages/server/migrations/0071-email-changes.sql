-- Phase: expand
-- Locks: users, one_time_tokens
-- Changes of one's own email address: asked for in a session, confirmed by a link to the new address, undone by a link to the former one.

create table email_changes (
  id uuid constraint email_changes_id_pkey primary key,
  user_id uuid not null constraint email_changes_user_id_fkey references users (id) on delete cascade,
  -- The address of the account when the change was requested: an undo restores it.
  former_email text not null,
  new_email text not null,
  -- Who asked: the only session that the change does not end. No foreign key, as in 0006.
  session_id uuid not null,
  -- `users.session_epoch` of the request. What ends all sessions, such as a new password, also ends the request.
  session_epoch integer not null,
  requested_at timestamptz not null default now(),
  -- Null until the new address is confirmed.
  confirmed_at timestamptz
);
create index email_changes_user_id_idx on email_changes (user_id);
create index email_changes_requested_at_idx on email_changes (requested_at);

-- The change that a link confirms or undoes. No foreign key: without its change, a link does nothing.
alter table one_time_tokens add column email_change_id uuid;

-- The purposes of both links. Wider than before, as in 0070.
alter table one_time_tokens drop constraint one_time_tokens_purpose_check;
alter table one_time_tokens add constraint one_time_tokens_purpose_check
  check (purpose in ('verify_email', 'reset_password', 'recover', 'invitation', 'change_email', 'revert_email'))
  not valid;

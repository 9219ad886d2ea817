-- Phase: expand
-- Locks: session_tokens, sessions, audit_logs
-- Sessions in which somebody acts as another user. Nothing fills the new columns yet, so only reading the log for its index takes
-- time: CHANGELOG.md has the statements to run before.

-- Their access tokens have a kind of their own: the release before accepts none of them, so it cannot take one for a token of the
-- user. Wider than before, so every release's writes satisfy it.
alter table session_tokens drop constraint session_tokens_kind_check;
alter table session_tokens add constraint session_tokens_kind_check
  check (kind in ('access', 'refresh', 'browser', 'acting')) not valid;

-- Who acts, and in which of their own sessions. No foreign keys: a session of somebody who is gone counts for nothing.
alter table sessions
  add column acted_by_id uuid,
  add column acted_by_session_id uuid,
  add constraint sessions_acted_by_id_acted_by_session_id_check
    check ((acted_by_id is null) = (acted_by_session_id is null)) not valid;

-- Who acted as the actor of an entry.
alter table audit_logs add column if not exists acted_by_id uuid;
create index if not exists audit_logs_acted_by_id_timestamp_id_idx
  on audit_logs (acted_by_id, "timestamp" desc, id desc) where acted_by_id is not null;

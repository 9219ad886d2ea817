-- Phase: expand
-- Locks: session_tokens
-- Tokens of browsers: the cookie by which applications learn who is signed in. Wider than before, so every release's writes
-- satisfy it. The release before reads access and refresh tokens by their kind, and removes expired rows of any.
alter table session_tokens drop constraint session_tokens_kind_check;
alter table session_tokens add constraint session_tokens_kind_check
  check (kind in ('access', 'refresh', 'browser')) not valid;

-- Phase: expand
-- The primary key (user_id, token_hash) stays the only index of tokens that begins with the user. While statistics call a
-- user's tokens few, the planner may find any other one as good, and then each lookup reads all tokens of a user who has
-- very many. Operators may create the index concurrently before.
create unique index if not exists session_tokens_jti_user_id_key on session_tokens (jti, user_id);
alter table session_tokens
  drop constraint session_tokens_user_id_jti_key,
  add constraint session_tokens_jti_user_id_key unique using index session_tokens_jti_user_id_key;

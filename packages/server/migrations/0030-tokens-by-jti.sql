-- The primary key (user_id, token_hash) stays the only index of tokens that begins with the user. While statistics call a
-- user's tokens few, the planner may find any other one as good, and then each lookup reads all tokens of a user who has
-- very many.
alter table session_tokens
  drop constraint session_tokens_user_id_jti_key,
  add constraint session_tokens_jti_user_id_key unique (jti, user_id);

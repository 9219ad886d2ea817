-- Phase: expand
-- Personal access tokens: secrets with which programs act as a person.

create table personal_tokens (
  id uuid constraint personal_tokens_id_pkey primary key,
  user_id uuid not null constraint personal_tokens_user_id_fkey references users (id) on delete cascade,
  name text not null,
  -- The part of the token that names it, for people and for secret scanners.
  prefix text not null constraint personal_tokens_prefix_key unique,
  secret_hash bytea not null constraint personal_tokens_secret_hash_key unique,
  -- users.session_epoch at its creation. Whatever ends every session of the account raises the epoch, so it ends the token, also on an
  -- instance that knows no tokens. What leaves the tokens alone, such as signing out everywhere, writes the new epoch here.
  user_epoch integer not null,
  -- How its owner had signed in when they made it: an account that must sign in more strongly since then cannot use it.
  acr text not null,
  -- Whether personal_token_permissions limits the token, even if it has no rows for it.
  is_narrowed boolean not null,
  -- Whether the permissions are those that its owner held when they made it, not ones that they chose.
  is_narrowed_by_maker boolean not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  constraint personal_tokens_name_check check (char_length(name) between 1 and 250),
  constraint personal_tokens_secret_hash_check check (octet_length(secret_hash) = 32),
  constraint personal_tokens_acr_check check (acr in ('aal1', 'aal2', 'phr'))
);
create index personal_tokens_user_id_created_at_idx on personal_tokens (user_id, created_at);

create table personal_token_permissions (
  personal_token_id uuid not null
    constraint personal_token_permissions_personal_token_id_fkey references personal_tokens (id) on delete cascade,
  permission_id uuid not null
    constraint personal_token_permissions_permission_id_fkey references permissions (id) on delete cascade,
  constraint personal_token_permissions_personal_token_id_permission_id_pkey primary key (personal_token_id, permission_id)
);
create index personal_token_permissions_permission_id_idx on personal_token_permissions (permission_id);

-- Callers that are programs: service accounts with roles, their API keys, and the access tokens made from these keys.

create table service_accounts (
  id uuid constraint service_accounts_id_pkey primary key,
  name text not null,
  description text not null default '',
  is_active boolean not null default true,
  -- Grows with every deactivation: access tokens of an earlier epoch stay ended when the account is activated again.
  token_epoch integer not null default 0,
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  created_by_id uuid constraint service_accounts_created_by_id_fkey references users (id) on delete set null,
  version integer not null default 1,
  constraint service_accounts_name_check check (char_length(name) between 1 and 250),
  constraint service_accounts_description_check check (char_length(description) <= 1000)
);
create unique index service_accounts_name_key on service_accounts (lower(name));
create index service_accounts_created_by_id_idx on service_accounts (created_by_id);

-- The version tells readers of the record about changes; being used is not one.
create trigger service_accounts_raise_record_version
  before update of name, description, is_active, updated_at on service_accounts
  for each row execute function raise_record_version();

create function raise_token_epoch() returns trigger language plpgsql as $$
begin
  new.token_epoch := old.token_epoch + 1;
  return new;
end $$;
create trigger service_accounts_raise_token_epoch before update of is_active on service_accounts
  for each row when (old.is_active and not new.is_active) execute function raise_token_epoch();

create table service_account_roles (
  service_account_id uuid not null
    constraint service_account_roles_service_account_id_fkey references service_accounts (id) on delete cascade,
  role_id uuid not null constraint service_account_roles_role_id_fkey references roles (id) on delete restrict,
  created_at timestamptz not null default now(),
  constraint service_account_roles_service_account_id_role_id_pkey primary key (service_account_id, role_id)
);
create index service_account_roles_role_id_idx on service_account_roles (role_id);

-- A row is an API key that was issued; only the SHA-256 of its text is stored.
create table api_keys (
  id uuid constraint api_keys_id_pkey primary key,
  service_account_id uuid not null
    constraint api_keys_service_account_id_fkey references service_accounts (id) on delete cascade,
  name text not null,
  -- The part of the key that names it, for people and for secret scanners.
  prefix text not null constraint api_keys_prefix_key unique,
  secret_hash bytea not null constraint api_keys_secret_hash_key unique,
  -- Whether api_key_permissions limits the key, even if it has no rows for it.
  is_narrowed boolean not null default false,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  -- What the key was created for. A rotation brings `expires_at` forward and leaves this.
  lifetime interval,
  constraint api_keys_name_check check (char_length(name) between 1 and 250),
  constraint api_keys_secret_hash_check check (octet_length(secret_hash) = 32)
);
create index api_keys_service_account_id_created_at_idx on api_keys (service_account_id, created_at);

create table api_key_permissions (
  api_key_id uuid not null constraint api_key_permissions_api_key_id_fkey references api_keys (id) on delete cascade,
  permission_id uuid not null
    constraint api_key_permissions_permission_id_fkey references permissions (id) on delete cascade,
  constraint api_key_permissions_api_key_id_permission_id_pkey primary key (api_key_id, permission_id)
);
create index api_key_permissions_permission_id_idx on api_key_permissions (permission_id);

-- The allowlist of access tokens that keys were exchanged for. Without foreign keys, so that no deletion is as long as
-- the list: a token counts only while its key and its account do.
create table client_tokens (
  service_account_id uuid not null,
  token_hash bytea not null,
  api_key_id uuid not null,
  jti uuid not null,
  key_id text not null,
  epoch integer not null,
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  constraint client_tokens_service_account_id_token_hash_pkey primary key (service_account_id, token_hash),
  constraint client_tokens_token_hash_check check (octet_length(token_hash) = 32)
);
create index client_tokens_expires_at_idx on client_tokens (expires_at);

-- Everybody who can hold roles.
create view subjects as
  select 'user'::text as type, id, rtrim(first_name || ' ' || last_name) as name,
         email, is_active, is_superuser
  from users
  union all
  select 'service_account'::text, id, name, null::text, is_active, false from service_accounts;

-- Every role that somebody holds.
create view subject_roles as
  select 'user'::text as subject_type, user_id as subject_id, role_id from user_roles
  union all
  select 'service_account'::text, service_account_id, role_id from service_account_roles;

-- Who acted: a user or a service account. Entries of earlier versions name users only.
alter table audit_logs
  add column actor_type text constraint audit_logs_actor_type_check check (actor_type in ('user', 'service_account')),
  add column actor_name text;

-- Users, roles, permissions and their groups, sessions, one-time tokens, the audit log and the signing keys.
-- Constraints are named <table>_<columns>_<key|fkey|check>: the server turns those names into error codes.

create table users (
  id uuid constraint users_id_pkey primary key,
  email text not null,
  first_name text not null,
  last_name text not null,
  password_hash text,
  -- Grows with every password change; a login that verified the password of an older epoch gets no session.
  password_epoch integer not null default 0,
  is_active boolean not null default true,
  is_superuser boolean not null default false,
  verified boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint users_email_key unique (email),
  constraint users_email_check check (email = lower(email) and char_length(email) between 3 and 254),
  constraint users_first_name_check check (char_length(first_name) between 1 and 100),
  constraint users_last_name_check check (char_length(last_name) between 1 and 100)
);
create index users_created_at_id_idx on users (created_at, id);
create index users_unverified_created_at_idx on users (created_at) where not verified and is_active and not is_superuser;

create table password_history (
  id uuid constraint password_history_id_pkey primary key,
  user_id uuid not null constraint password_history_user_id_fkey references users (id) on delete cascade,
  password_hash text not null,
  created_at timestamptz not null default now()
);
create index password_history_user_id_created_at_idx on password_history (user_id, created_at desc);

create table permission_groups (
  id uuid constraint permission_groups_id_pkey primary key,
  name text not null,
  description text not null default '',
  parent_id uuid constraint permission_groups_parent_id_fkey references permission_groups (id) on delete restrict,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  created_by_id uuid constraint permission_groups_created_by_id_fkey references users (id) on delete set null,
  constraint permission_groups_name_check check (char_length(name) between 1 and 250),
  constraint permission_groups_description_check check (char_length(description) <= 1000),
  constraint permission_groups_parent_id_check check (parent_id <> id)
);
create unique index permission_groups_name_key on permission_groups (lower(name));
create index permission_groups_parent_id_idx on permission_groups (parent_id);
create index permission_groups_created_by_id_idx on permission_groups (created_by_id);

create table permissions (
  id uuid constraint permissions_id_pkey primary key,
  name text not null,
  description text not null default '',
  group_id uuid not null constraint permissions_group_id_fkey references permission_groups (id) on delete restrict,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  created_by_id uuid constraint permissions_created_by_id_fkey references users (id) on delete set null,
  constraint permissions_name_check check (char_length(name) between 1 and 100),
  constraint permissions_description_check check (char_length(description) <= 1000)
);
create unique index permissions_name_key on permissions (lower(name));
create index permissions_group_id_idx on permissions (group_id);
create index permissions_created_by_id_idx on permissions (created_by_id);

create table role_groups (
  id uuid constraint role_groups_id_pkey primary key,
  name text not null,
  description text not null default '',
  parent_id uuid constraint role_groups_parent_id_fkey references role_groups (id) on delete restrict,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  created_by_id uuid constraint role_groups_created_by_id_fkey references users (id) on delete set null,
  constraint role_groups_name_check check (char_length(name) between 1 and 250),
  constraint role_groups_description_check check (char_length(description) <= 1000),
  constraint role_groups_parent_id_check check (parent_id <> id)
);
create unique index role_groups_name_key on role_groups (lower(name));
create index role_groups_parent_id_idx on role_groups (parent_id);
create index role_groups_created_by_id_idx on role_groups (created_by_id);

create table roles (
  id uuid constraint roles_id_pkey primary key,
  name text not null,
  description text not null default '',
  role_group_id uuid constraint roles_role_group_id_fkey references role_groups (id) on delete restrict,
  is_system boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  created_by_id uuid constraint roles_created_by_id_fkey references users (id) on delete set null,
  constraint roles_name_check check (char_length(name) between 1 and 250),
  constraint roles_description_check check (char_length(description) <= 1000)
);
create unique index roles_name_key on roles (lower(name));
create index roles_role_group_id_idx on roles (role_group_id);
create index roles_created_by_id_idx on roles (created_by_id);

create table role_group_roles (
  role_group_id uuid not null constraint role_group_roles_role_group_id_fkey references role_groups (id) on delete restrict,
  role_id uuid not null constraint role_group_roles_role_id_fkey references roles (id) on delete cascade,
  created_at timestamptz not null default now(),
  constraint role_group_roles_role_group_id_role_id_pkey primary key (role_group_id, role_id)
);
create index role_group_roles_role_id_idx on role_group_roles (role_id);

create table role_permissions (
  role_id uuid not null constraint role_permissions_role_id_fkey references roles (id) on delete restrict,
  permission_id uuid not null constraint role_permissions_permission_id_fkey references permissions (id) on delete restrict,
  created_at timestamptz not null default now(),
  constraint role_permissions_role_id_permission_id_pkey primary key (role_id, permission_id)
);
create index role_permissions_permission_id_idx on role_permissions (permission_id);

create table user_roles (
  user_id uuid not null constraint user_roles_user_id_fkey references users (id) on delete restrict,
  role_id uuid not null constraint user_roles_role_id_fkey references roles (id) on delete restrict,
  created_at timestamptz not null default now(),
  constraint user_roles_user_id_role_id_pkey primary key (user_id, role_id)
);
create index user_roles_role_id_idx on user_roles (role_id);

-- The version of the role → permission graph. Every statement that changes the graph raises it in its own
-- transaction, whoever sends it, so that a process that compiled the graph knows when its copy is old.
create table authz_version (
  only_row boolean constraint authz_version_only_row_pkey primary key default true,
  version bigint not null default 1,
  constraint authz_version_only_row_check check (only_row)
);
insert into authz_version default values;

create function raise_authz_version() returns trigger language plpgsql as $$
begin
  update authz_version set version = version + 1;
  return null;
end $$;

create trigger roles_raise_authz_version
  after insert or update of name, description, is_system or delete or truncate on roles
  for each statement execute function raise_authz_version();
create trigger permissions_raise_authz_version after insert or update of name or delete or truncate on permissions
  for each statement execute function raise_authz_version();
create trigger role_permissions_raise_authz_version after insert or update or delete or truncate on role_permissions
  for each statement execute function raise_authz_version();

create table sessions (
  id uuid constraint sessions_id_pkey primary key,
  user_id uuid not null constraint sessions_user_id_fkey references users (id) on delete cascade,
  origin_address text,
  user_agent text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  revoked_reason text,
  constraint sessions_user_agent_check check (char_length(user_agent) <= 400)
);
create index sessions_user_id_created_at_idx on sessions (user_id, created_at) where revoked_at is null;
create index sessions_user_id_idx on sessions (user_id);
create index sessions_expires_at_idx on sessions (expires_at);
create index sessions_revoked_at_idx on sessions (revoked_at) where revoked_at is not null;

-- The allowlist. A row is a live token; revoking a session removes its rows. The key is the token's SHA-256:
-- a hit proves that these bytes are a token that this service signed.
create table session_tokens (
  user_id uuid not null,
  token_hash bytea not null,
  session_id uuid not null constraint session_tokens_session_id_fkey references sessions (id) on delete cascade,
  kind text not null,
  jti uuid not null,
  key_id text not null,
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  -- Refresh tokens only: when it was exchanged, and for which token.
  rotated_at timestamptz,
  successor_jti uuid,
  constraint session_tokens_user_id_token_hash_pkey primary key (user_id, token_hash),
  constraint session_tokens_user_id_jti_key unique (user_id, jti),
  constraint session_tokens_kind_check check (kind in ('access', 'refresh')),
  constraint session_tokens_token_hash_check check (octet_length(token_hash) = 32)
);
create index session_tokens_session_id_idx on session_tokens (session_id);
create index session_tokens_expires_at_idx on session_tokens (expires_at);

-- Links that were mailed. Only the SHA-256 is stored; purposes never share a token.
create table one_time_tokens (
  token_hash bytea constraint one_time_tokens_token_hash_pkey primary key,
  purpose text not null,
  user_id uuid not null constraint one_time_tokens_user_id_fkey references users (id) on delete cascade,
  email text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz,
  constraint one_time_tokens_purpose_check check (purpose in ('verify_email', 'reset_password')),
  constraint one_time_tokens_token_hash_check check (octet_length(token_hash) = 32)
);
create index one_time_tokens_user_id_purpose_idx on one_time_tokens (user_id, purpose);
create index one_time_tokens_expires_at_idx on one_time_tokens (expires_at);

-- Failed password attempts by canonical e-mail, whether or not an account has it.
-- `slots` holds the attempts still being verified: {attempt id: lease end in epoch seconds}.
create table login_attempts (
  email text constraint login_attempts_email_pkey primary key,
  failures integer not null default 0,
  slots jsonb not null default '{}',
  locked_until timestamptz,
  updated_at timestamptz not null default now()
);
create index login_attempts_updated_at_idx on login_attempts (updated_at);

-- actor_id has no link on purpose: entries outlive the accounts they speak of.
create table audit_logs (
  id uuid constraint audit_logs_id_pkey primary key,
  actor_id uuid,
  action text not null,
  resource_type text not null,
  resource_id text not null default '',
  details jsonb not null default '{}',
  "timestamp" timestamptz not null default clock_timestamp()
);
create index audit_logs_timestamp_id_idx on audit_logs ("timestamp" desc, id desc);

-- Private parts are sealed with a key derived from SECRET_KEY.
create table signing_keys (
  key_id text constraint signing_keys_key_id_pkey primary key,
  public_jwk jsonb not null,
  private_key_sealed bytea not null,
  created_at timestamptz not null default now(),
  -- Published at once, used for signing only from here on, so that cached key sets know it by then.
  signs_from timestamptz not null default now()
);

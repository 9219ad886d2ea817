-- Phase: expand
-- Locks: users, permissions
-- Applications: services that people sign in to with Castellan, and the secrets that authenticate them.

create table applications (
  id uuid constraint applications_id_pkey primary key,
  -- What the application calls itself in OAuth. Never a UUID, which names a service account there.
  client_id text not null constraint applications_client_id_key unique,
  name text not null,
  description text not null default '',
  home_url text,
  policy_url text,
  terms_url text,
  type text not null constraint applications_type_check check (type in ('web', 'spa', 'native', 'device')),
  is_active boolean not null default true,
  auth_method text not null
    constraint applications_auth_method_check check (auth_method in ('secret', 'private_key_jwt', 'none')),
  -- Public keys (RFC 7517), or where to read them; at most one of the two.
  jwks jsonb,
  jwks_url text,
  grant_types text[] not null,
  -- Compared character by character.
  redirect_uris text[] not null,
  post_logout_redirect_uris text[] not null,
  allowed_origins text[] not null,
  backchannel_logout_url text,
  first_party boolean not null,
  -- Who may sign in: holders of this permission; null for every active account.
  required_permission_id uuid
    constraint applications_required_permission_id_fkey references permissions (id) on delete restrict,
  scopes text[] not null,
  subject_type text not null
    constraint applications_subject_type_check check (subject_type in ('public', 'pairwise')),
  -- The host that pairwise subjects are computed from: another one makes everybody a stranger.
  sector text,
  id_token_signing_alg text not null
    constraint applications_id_token_signing_alg_check check (id_token_signing_alg in ('RS256', 'ES256')),
  id_token_claims text not null
    constraint applications_id_token_claims_check check (id_token_claims in ('all', 'minimal')),
  require_pkce boolean not null,
  require_par boolean not null,
  require_dpop boolean not null,
  access_token_seconds integer not null
    constraint applications_access_token_seconds_check check (access_token_seconds between 60 and 3600),
  id_token_seconds integer not null
    constraint applications_id_token_seconds_check check (id_token_seconds between 60 and 86400),
  refresh_idle_days integer not null
    constraint applications_refresh_idle_days_check check (refresh_idle_days between 1 and 90),
  grant_days integer not null constraint applications_grant_days_check check (grant_days between 1 and 365),
  -- In seconds.
  default_max_age integer constraint applications_default_max_age_check check (default_max_age >= 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  created_by_id uuid constraint applications_created_by_id_fkey references users (id) on delete set null,
  version integer not null default 1,
  constraint applications_client_id_check check (client_id ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'),
  constraint applications_name_check check (char_length(name) between 1 and 250),
  constraint applications_description_check check (char_length(description) <= 1000),
  constraint applications_jwks_jwks_url_check check (jwks is null or jwks_url is null),
  -- Only a server that keeps a secret may do without a proof of who began.
  constraint applications_require_pkce_type_check check (require_pkce or type = 'web'),
  constraint applications_require_pkce_auth_method_check check (require_pkce or auth_method <> 'none'),
  constraint applications_sector_subject_type_check check (sector is not null or subject_type = 'public')
);
create unique index applications_name_key on applications (lower(name));
create index applications_required_permission_id_idx on applications (required_permission_id);
create index applications_created_by_id_idx on applications (created_by_id);

-- Every change of the record writes updated_at. The deletion of its author is none.
create trigger applications_raise_record_version
  before update of name, is_active, redirect_uris, required_permission_id, updated_at on applications
  for each row execute function raise_record_version();

-- Only the SHA-256 of a secret is stored.
create table application_secrets (
  id uuid constraint application_secrets_id_pkey primary key,
  application_id uuid not null
    constraint application_secrets_application_id_fkey references applications (id) on delete cascade,
  name text not null,
  -- The beginning of the secret, for people and for secret scanners.
  prefix text not null,
  secret_hash bytea not null constraint application_secrets_secret_hash_key unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  constraint application_secrets_name_check check (char_length(name) between 1 and 250),
  constraint application_secrets_secret_hash_check check (octet_length(secret_hash) = 32)
);
create index application_secrets_application_id_idx on application_secrets (application_id);

-- What signs the tokens of applications. Not in signing_keys: release 0.2 reads every row there as a key of sessions.
-- Private parts are encrypted with a key derived from SECRET_KEY, as those of signing_keys.
create table application_keys (
  key_id text constraint application_keys_key_id_pkey primary key,
  -- As JWS names it (RFC 7518). Keys of one algorithm replace each other.
  alg text not null constraint application_keys_alg_check check (alg in ('RS256', 'ES256')),
  public_jwk jsonb not null,
  private_key_sealed bytea not null,
  created_at timestamptz not null default now(),
  -- Published at once, used for signing only from here on, so that cached key sets know it by then.
  signs_from timestamptz not null default now()
);

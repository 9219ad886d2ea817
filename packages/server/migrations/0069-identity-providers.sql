-- Phase: expand
-- Locks: users, roles, sessions, pending_sign_ins
-- Identity providers: issuers that people come from, and the identities that link their accounts there to accounts here.

create table identity_providers (
  id uuid constraint identity_providers_id_pkey primary key,
  slug text not null constraint identity_providers_slug_key unique,
  name text not null,
  kind text not null constraint identity_providers_kind_check
    check (kind in ('oidc', 'google', 'microsoft', 'github', 'apple')),
  -- As the administrator wrote it, or what the kind fixes. Identities have the issuer that signed, which can differ.
  issuer text not null,
  client_id text not null,
  client_auth text not null constraint identity_providers_client_auth_check
    check (client_auth in ('client_secret_basic', 'client_secret_post', 'private_key', 'none')),
  -- The client secret, or Apple's private key, sealed for this provider.
  secret_sealed bytea,
  -- Apple's.
  team_id text,
  key_id text,
  scopes text[] not null,
  is_active boolean not null default true,
  is_shown boolean not null default true,
  position integer not null,
  sign_up text not null constraint identity_providers_sign_up_check
    check (sign_up in ('none', 'domains', 'everyone')),
  -- In lower case, ASCII.
  domains text[] not null,
  required_for_domains boolean not null,
  -- Microsoft's tenant ids.
  tenants text[] not null,
  email_trust text not null constraint identity_providers_email_trust_check check (email_trust in ('none', 'domains')),
  connect text not null constraint identity_providers_connect_check check (connect in ('confirm', 'trusted')),
  allow_superusers boolean not null,
  mapping text not null constraint identity_providers_mapping_check
    check (mapping in ('creation', 'every_sign_in')),
  sync_names boolean not null,
  acr_mapping jsonb not null,
  logout text not null constraint identity_providers_logout_check check (logout in ('here', 'upstream')),
  extra_parameters jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  created_by_id uuid constraint identity_providers_created_by_id_fkey references users (id) on delete set null,
  version integer not null default 1,
  constraint identity_providers_slug_check check (slug ~ '^[a-z0-9-]{1,40}$'),
  constraint identity_providers_name_check check (char_length(name) between 1 and 100),
  constraint identity_providers_email_trust_domains_check
    check (email_trust = 'none' or cardinality(domains) > 0),
  constraint identity_providers_required_for_domains_domains_check
    check (not required_for_domains or cardinality(domains) > 0)
);
create index identity_providers_created_by_id_idx on identity_providers (created_by_id);
create trigger identity_providers_raise_version before update on identity_providers
  for each row execute function raise_record_version();

-- What accounts made by a provider get beside DEFAULT_ROLE.
create table identity_provider_roles (
  provider_id uuid not null
    constraint identity_provider_roles_provider_id_fkey references identity_providers (id) on delete cascade,
  role_id uuid not null constraint identity_provider_roles_role_id_fkey references roles (id) on delete cascade,
  constraint identity_provider_roles_provider_id_role_id_pkey primary key (provider_id, role_id)
);
create index identity_provider_roles_role_id_idx on identity_provider_roles (role_id);

create table identity_role_mappings (
  provider_id uuid not null
    constraint identity_role_mappings_provider_id_fkey references identity_providers (id) on delete cascade,
  position integer not null,
  claim text not null,
  equals text not null,
  role_id uuid not null constraint identity_role_mappings_role_id_fkey references roles (id) on delete cascade,
  constraint identity_role_mappings_provider_id_position_pkey primary key (provider_id, position)
);
create index identity_role_mappings_role_id_idx on identity_role_mappings (role_id);

create table identities (
  id uuid constraint identities_id_pkey primary key,
  user_id uuid not null constraint identities_user_id_fkey references users (id) on delete cascade,
  provider_id uuid not null
    constraint identities_provider_id_fkey references identity_providers (id) on delete restrict,
  issuer text not null,
  subject text not null constraint identities_subject_check check (char_length(subject) between 1 and 400),
  -- What the provider said last, for people to tell identities apart. Nothing is decided by it.
  email text,
  display_name text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  constraint identities_provider_id_issuer_subject_key unique (provider_id, issuer, subject)
);
create index identities_user_id_idx on identities (user_id);

-- Sign-ins that were begun at a provider, until they are finished here. No foreign keys, as in 0057.
create table provider_sign_ins (
  state_hash bytea constraint provider_sign_ins_state_hash_pkey primary key
    constraint provider_sign_ins_state_hash_check check (octet_length(state_hash) = 32),
  -- Of the browser that began.
  cookie_hash bytea not null
    constraint provider_sign_ins_cookie_hash_check check (octet_length(cookie_hash) = 32),
  provider_id uuid not null,
  purpose text not null constraint provider_sign_ins_purpose_check check (purpose in ('sign_in', 'connect')),
  -- Who connects, in which session.
  user_id uuid,
  session_id uuid,
  -- Nonce, PKCE verifier, where to go on to: JSON, sealed.
  begun_sealed bytea not null,
  -- What the provider posted (Apple), until the browser comes with its cookie. Sealed.
  posted_sealed bytea,
  -- What the provider said of somebody who is not known here, while the person has to do something. Sealed.
  result_sealed bytea,
  -- The address that a code was mailed to, and how the code is known. Newest only.
  email text,
  code_hash bytea,
  code_expires_at timestamptz,
  code_tries smallint not null default 0,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- The state counts once.
  used_at timestamptz,
  -- The pending identity is connected, or withdrawn.
  finished_at timestamptz,
  constraint provider_sign_ins_purpose_user_id_check check ((purpose = 'connect') = (user_id is not null))
);
create index provider_sign_ins_cookie_hash_idx on provider_sign_ins (cookie_hash);
create index provider_sign_ins_expires_at_idx on provider_sign_ins (expires_at);

-- Logout tokens count once.
create table used_logout_tokens (
  provider_id uuid not null,
  jti_hash bytea not null constraint used_logout_tokens_jti_hash_check check (octet_length(jti_hash) = 32),
  expires_at timestamptz not null,
  constraint used_logout_tokens_provider_id_jti_hash_pkey primary key (provider_id, jti_hash)
);
create index used_logout_tokens_expires_at_idx on used_logout_tokens (expires_at);

-- The identity that a session began with, the session at the provider, and, where the provider is told of a sign-out, its ID token.
alter table sessions
  add column identity_id uuid,
  add column provider_sid text,
  add column provider_id_token_sealed bytea;
create index sessions_provider_sid_idx on sessions (provider_sid) where provider_sid is not null;

-- Null: the first proof was the password.
alter table pending_sign_ins
  add column identity_id uuid,
  add column provider_sid text,
  add column provider_id_token_sealed bytea;

-- As in 0053. A provider proves no more than a password, unless its record says so.
create or replace function require_proof() returns trigger language plpgsql as $$
begin
  if coalesce(new.proof, 'password') not in ('password', 'password+device', 'provider', 'provider+device') then
    return new;
  end if;
  if not (
    exists (select from totp_factors where user_id = new.user_id)
    or exists (select from passkeys where user_id = new.user_id)
    or exists (select from users where id = new.user_id and recovery_pending)
  ) then
    return new;
  end if;
  if new.proof in ('password+device', 'provider+device') and exists (
    select from devices d join users u on u.id = d.user_id
    where d.id = new.device_id and d.user_id = new.user_id
      and d.trusted_until > now() and d.trusted_epoch = u.session_epoch
  ) then
    return new;
  end if;
  raise exception 'the session needs the proof of a second factor'
    using errcode = 'check_violation', table = 'sessions', constraint = 'sessions_proof_check';
end $$;

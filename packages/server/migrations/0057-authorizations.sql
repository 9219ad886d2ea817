-- Phase: expand
-- Locks: users, applications
-- What people gave applications: authorizations, the tokens of them, and what is kept until an authorization is finished.
-- Grants and tokens have no foreign keys, so that ending an account, a session or an application never waits for them: whether
-- a row still counts is read from those.

-- Requests that wait: pushed by an application (RFC 9126), for a person to sign in or agree, or to sign out.
create table application_requests (
  id_hash bytea constraint application_requests_id_hash_pkey primary key,
  kind text not null
    constraint application_requests_kind_check check (kind in ('pushed', 'interaction', 'sign_out')),
  -- Null: a sign-out that names no application.
  application_id uuid,
  parameters jsonb not null,
  -- What is known so far: of a pushed request the key that it is bound to, of an interaction what the person did.
  state jsonb not null default '{}',
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz,
  constraint application_requests_id_hash_check check (octet_length(id_hash) = 32)
);
create index application_requests_expires_at_idx on application_requests (expires_at);

-- One authorization. Refresh tokens are not stored: their text names the grant and the turn.
create table access_grants (
  id uuid constraint access_grants_id_pkey primary key,
  application_id uuid not null,
  user_id uuid not null,
  session_id uuid not null,
  -- `users.session_epoch` of then.
  user_epoch integer not null,
  -- Outlives its session.
  offline boolean not null,
  scopes text[] not null,
  -- [{"resource_id": uuid, "permission_ids": [uuid]}]: what was agreed to, for each API resource.
  resources jsonb not null default '[]',
  -- The `claims` parameter (OpenID Connect Core, 5.5); null: none.
  claims jsonb,
  nonce text,
  redirect_uri text,
  -- Null: begun on a device.
  code_hash bytea constraint access_grants_code_hash_check check (octet_length(code_hash) = 32),
  code_challenge text,
  code_expires_at timestamptz,
  code_used_at timestamptz,
  -- SHA-256 thumbprint (RFC 7638) of the key that the code, and then the tokens, are bound to.
  dpop_jkt text,
  auth_time timestamptz not null,
  acr text not null,
  amr text[] not null,
  turn integer not null default 0,
  turned_at timestamptz,
  -- Null: no refresh token.
  refresh_expires_at timestamptz,
  -- The absolute end.
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz,
  revoked_reason text
) with (fillfactor = 80);
create unique index access_grants_code_hash_key on access_grants (code_hash) where code_hash is not null;
create index access_grants_user_id_application_id_idx on access_grants (user_id, application_id);
create index access_grants_application_id_id_idx on access_grants (application_id, id);
create index access_grants_session_id_idx on access_grants (session_id) where revoked_at is null;
create index access_grants_expires_at_idx on access_grants (expires_at);

-- The allowlist of access tokens: opaque ones, and JWTs for API resources.
create table application_tokens (
  token_hash bytea constraint application_tokens_token_hash_pkey primary key,
  grant_id uuid not null,
  user_id uuid not null,
  jti uuid not null,
  -- Null: userinfo.
  aud text,
  scopes text[] not null,
  dpop_jkt text,
  -- The key that signed it; null: opaque.
  key_id uuid,
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  constraint application_tokens_token_hash_check check (octet_length(token_hash) = 32)
) with (fillfactor = 70);
create index application_tokens_expires_at_idx on application_tokens (expires_at);

-- Which applications took part in a session, so that they are told when it ends. `told_at`: they have been.
create table application_sessions (
  user_id uuid,
  session_id uuid,
  application_id uuid,
  -- What the application knows the session by.
  sid text not null,
  expires_at timestamptz not null,
  first_at timestamptz not null default now(),
  last_at timestamptz not null default now(),
  told_at timestamptz,
  constraint application_sessions_user_id_session_id_application_id_pkey
    primary key (user_id, session_id, application_id)
);
create index application_sessions_expires_at_idx on application_sessions (expires_at) where told_at is null;

-- What people agreed to, by application.
create table consents (
  user_id uuid,
  application_id uuid,
  scopes text[] not null,
  permission_ids uuid[] not null default '{}',
  agreed_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  constraint consents_user_id_application_id_pkey primary key (user_id, application_id),
  constraint consents_user_id_fkey foreign key (user_id) references users (id) on delete cascade,
  constraint consents_application_id_fkey foreign key (application_id) references applications (id) on delete cascade
);
create index consents_application_id_idx on consents (application_id);

-- The salt of pairwise subjects. Not derived from SECRET_KEY: a new one would make everybody a stranger everywhere.
create table pairwise_salt (
  only_row boolean default true
    constraint pairwise_salt_only_row_pkey primary key
    constraint pairwise_salt_only_row_check check (only_row),
  salt bytea not null constraint pairwise_salt_salt_check check (octet_length(salt) = 32)
);
insert into pairwise_salt (salt)
values (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

-- Phase: expand
-- Sign-ins on devices without a browser (RFC 8628). A device asks; a person allows or denies it in a browser elsewhere. No foreign
-- keys, as in 0057.
create table device_requests (
  code_hash bytea constraint device_requests_code_hash_pkey primary key,
  -- Without its hyphen.
  user_code text not null
    constraint device_requests_user_code_check check (user_code ~ '^[BCDFGHJKLMNPQRSTVWXZ]{8}$'),
  application_id uuid not null,
  scopes text[] not null,
  -- As in access_grants.
  resources jsonb not null default '[]',
  -- Of the device.
  address text not null,
  user_agent text,
  -- Of the page of the person who entered the user code last. Null: nobody has.
  interaction_hash bytea
    constraint device_requests_interaction_hash_check check (octet_length(interaction_hash) = 32),
  user_id uuid,
  interval_seconds integer not null default 5,
  polled_at timestamptz,
  -- Allowed.
  grant_id uuid,
  denied_at timestamptz,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint device_requests_code_hash_check check (octet_length(code_hash) = 32)
);
create unique index device_requests_user_code_key on device_requests (user_code)
  where grant_id is null and denied_at is null;
create unique index device_requests_interaction_hash_key on device_requests (interaction_hash)
  where interaction_hash is not null;
create index device_requests_application_id_idx on device_requests (application_id)
  where grant_id is null and denied_at is null;
create index device_requests_expires_at_idx on device_requests (expires_at);

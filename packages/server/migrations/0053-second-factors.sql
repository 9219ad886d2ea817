-- Phase: expand
-- Locks: session_tokens, sessions, users, user_roles, roles, permissions, one_time_tokens
-- Second factors, the sign-ins that wait for one, and the devices that people sign in from.

-- The secret of an authenticator app, sealed for its account. `last_step` is the last time step whose code was accepted.
create table totp_factors (
  user_id uuid constraint totp_factors_user_id_pkey primary key
    constraint totp_factors_user_id_fkey references users (id) on delete cascade,
  secret_sealed bytea not null,
  last_step bigint not null default 0,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  suspended_at timestamptz
);

-- An app that is being set up in one session. It signs nobody in.
create table totp_enrolments (
  user_id uuid constraint totp_enrolments_user_id_pkey primary key
    constraint totp_enrolments_user_id_fkey references users (id) on delete cascade,
  session_id uuid not null,
  secret_sealed bytea not null,
  failures smallint not null default 0,
  expires_at timestamptz not null
);
create index totp_enrolments_expires_at_idx on totp_enrolments (expires_at);

-- WebAuthn credentials: passkeys sign in alone, security keys after the password only.
create table passkeys (
  id uuid constraint passkeys_id_pkey primary key,
  user_id uuid not null constraint passkeys_user_id_fkey references users (id) on delete cascade,
  -- WebAuthn Level 3, 4: at least 16 bytes, at most 1023.
  credential_id bytea not null
    constraint passkeys_credential_id_check check (octet_length(credential_id) between 16 and 1023),
  -- COSE (RFC 9052).
  public_key bytea not null,
  kind text not null constraint passkeys_kind_check check (kind in ('passkey', 'security_key')),
  name text not null constraint passkeys_name_check check (char_length(name) between 1 and 100),
  rp_id text not null,
  sign_count bigint not null,
  transports text[] not null default '{}',
  -- Null: the authenticator named no model.
  aaguid uuid,
  backup_eligible boolean not null,
  backed_up boolean not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);
-- The hash, because an index entry cannot hold an id of the greatest length beside others.
create unique index passkeys_credential_id_key on passkeys (sha256(credential_id));
create index passkeys_user_id_idx on passkeys (user_id);

-- `selector` are the first characters of a code, which find its row; the rest is hashed as a password is.
create table recovery_codes (
  user_id uuid constraint recovery_codes_user_id_fkey references users (id) on delete cascade,
  selector text constraint recovery_codes_selector_check check (char_length(selector) = 3),
  code_hash text not null,
  used_at timestamptz,
  created_at timestamptz not null default now(),
  constraint recovery_codes_user_id_selector_pkey primary key (user_id, selector)
);

-- A sign-in whose password was right, until its second proof. The epochs are those of the account when it began.
create table pending_sign_ins (
  token_hash bytea constraint pending_sign_ins_token_hash_pkey primary key,
  user_id uuid not null constraint pending_sign_ins_user_id_fkey references users (id) on delete cascade,
  browser_hash bytea not null,
  device_id uuid,
  network text not null,
  session_epoch integer not null,
  password_epoch integer not null,
  failures smallint not null default 0,
  tries smallint not null default 0,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  completed_at timestamptz,
  constraint pending_sign_ins_token_hash_check check (octet_length(token_hash) = 32)
);
create index pending_sign_ins_user_id_created_at_idx on pending_sign_ins (user_id, created_at);
create index pending_sign_ins_expires_at_idx on pending_sign_ins (expires_at);

-- Browsers that their user has signed in from, by the hash of a token in their cookie. Trust ends when `session_epoch` of the
-- account is no longer `trusted_epoch`. `slots` are as in login_attempts.
create table devices (
  id uuid constraint devices_id_pkey primary key,
  user_id uuid not null constraint devices_user_id_fkey references users (id) on delete cascade,
  token_hash bytea not null,
  network text,
  user_agent text constraint devices_user_agent_check check (char_length(user_agent) <= 400),
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  trusted_until timestamptz,
  trusted_epoch integer,
  failures integer not null default 0,
  code_failures integer not null default 0,
  slots jsonb not null default '{}',
  locked_until timestamptz,
  code_locked_until timestamptz,
  constraint devices_user_id_token_hash_key unique (user_id, token_hash),
  constraint devices_token_hash_check check (octet_length(token_hash) = 32)
);
create index devices_last_used_at_idx on devices (last_used_at);

-- Wrong codes of an account since the last right proof: `failures` since the app last closed, `locks` how often it closed,
-- `total` all.
create table factor_attempts (
  user_id uuid constraint factor_attempts_user_id_pkey primary key
    constraint factor_attempts_user_id_fkey references users (id) on delete cascade,
  failures integer not null default 0,
  locks integer not null default 0,
  total integer not null default 0,
  locked_until timestamptz,
  updated_at timestamptz not null default now()
);

-- Challenges that a WebAuthn response has used up. Those that nobody has used are stored nowhere.
create table used_challenges (
  challenge_hash bytea constraint used_challenges_challenge_hash_pkey primary key,
  expires_at timestamptz not null
);
create index used_challenges_expires_at_idx on used_challenges (expires_at);

-- How a session was proved; null is a password, as in the release before.
alter table sessions
  add column proof text,
  add column device_id uuid;

-- How and when the holder of a token was last authenticated; null: by a password, when the session began.
alter table session_tokens
  add column acr text,
  add column amr text[],
  add column auth_time timestamptz;

-- `recovery_pending`: the factors were reset, and the password alone does not sign in. `has_factor` serves lists, and a sign-in
-- under the lock of the row; what decides in the end is the trigger on sessions, which reads the factors themselves.
alter table users
  add column recovery_pending boolean not null default false,
  add column has_factor boolean not null default false;

-- How people must have signed in: to act as a holder of the role, and to use the permission.
alter table roles
  add column required_acr text constraint roles_required_acr_check check (required_acr in ('aal2', 'phr')),
  add column enforced_from timestamptz;
alter table permissions
  add column required_acr text constraint permissions_required_acr_check check (required_acr in ('aal1', 'aal2', 'phr')),
  -- In seconds.
  add column max_auth_age integer constraint permissions_max_auth_age_check check (max_auth_age between 30 and 86400);

-- The purpose of a link that stands in for lost factors. Wider than before, so every release's writes satisfy it.
alter table one_time_tokens drop constraint one_time_tokens_purpose_check;
alter table one_time_tokens add constraint one_time_tokens_purpose_check
  check (purpose in ('verify_email', 'reset_password', 'recover')) not valid;

create function note_factors() returns trigger language plpgsql as $$
declare
  owner uuid := coalesce(new.user_id, old.user_id);
begin
  update users set has_factor = not has_factor
    where id = owner and has_factor <> (
      exists (select from totp_factors where user_id = owner) or exists (select from passkeys where user_id = owner));
  return null;
end $$;
create trigger totp_factors_note_factors after insert or delete on totp_factors
  for each row execute function note_factors();
create trigger passkeys_note_factors after insert or delete on passkeys
  for each row execute function note_factors();

-- The last judge: no path, no import and no instance of another release starts a session past a factor.
create function require_proof() returns trigger language plpgsql as $$
begin
  if coalesce(new.proof, 'password') not in ('password', 'password+device') then
    return new;
  end if;
  if not (
    exists (select from totp_factors where user_id = new.user_id)
    or exists (select from passkeys where user_id = new.user_id)
    or exists (select from users where id = new.user_id and recovery_pending)
  ) then
    return new;
  end if;
  if new.proof = 'password+device' and exists (
    select from devices d join users u on u.id = d.user_id
    where d.id = new.device_id and d.user_id = new.user_id
      and d.trusted_until > now() and d.trusted_epoch = u.session_epoch
  ) then
    return new;
  end if;
  raise exception 'the session needs the proof of a second factor'
    using errcode = 'check_violation', table = 'sessions', constraint = 'sessions_proof_check';
end $$;
create trigger sessions_require_proof before insert on sessions
  for each row execute function require_proof();

-- The graph of roles and permissions holds what they require, so a change of it is a change of the graph.
create or replace function record_role_change() returns trigger language plpgsql as $$
declare
  ids uuid[];
begin
  if tg_op = 'INSERT' then
    select array_agg(id) into ids from (select id from new_rows limit 1001) touched;
  elsif tg_op = 'DELETE' then
    select array_agg(id) into ids from (select id from old_rows limit 1001) touched;
  else
    select array_agg(id) into ids from (
      select id from (
        (select id, name, description, is_system, required_acr, enforced_from from old_rows
          except select id, name, description, is_system, required_acr, enforced_from from new_rows)
        union all
        (select id, name, description, is_system, required_acr, enforced_from from new_rows
          except select id, name, description, is_system, required_acr, enforced_from from old_rows)
      ) differing
      group by id limit 1001) touched;
  end if;
  perform record_authz_change(authz_ids(coalesce(ids, '{}')), '{}');
  return null;
end $$;

create or replace function record_permission_change() returns trigger language plpgsql as $$
declare
  ids uuid[];
begin
  if tg_op = 'INSERT' then
    select array_agg(id) into ids from (select id from new_rows limit 1001) touched;
  elsif tg_op = 'DELETE' then
    select array_agg(id) into ids from (select id from old_rows limit 1001) touched;
  else
    select array_agg(id) into ids from (
      select id from (
        (select id, name, required_acr, max_auth_age from old_rows
          except select id, name, required_acr, max_auth_age from new_rows)
        union all
        (select id, name, required_acr, max_auth_age from new_rows
          except select id, name, required_acr, max_auth_age from old_rows)
      ) differing
      group by id limit 1001) touched;
  end if;
  perform record_authz_change('{}', authz_ids(coalesce(ids, '{}')));
  return null;
end $$;

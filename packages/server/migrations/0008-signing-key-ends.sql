-- Signing keys that were revoked: no token that one of them signed counts, from the moment its row is here.
-- Retired keys are not listed: their tokens had all expired.
create table revoked_signing_keys (
  key_id text constraint revoked_signing_keys_key_id_pkey primary key,
  revoked_at timestamptz not null default now(),
  -- When every session whose refresh token it signed had been ended; null while some may remain.
  swept_at timestamptz
);

-- The refresh token that a session has at present, for finding the sessions of a revoked key.
create index session_tokens_current_refresh_idx on session_tokens (session_id)
  where kind = 'refresh' and rotated_at is null;

-- Phase: expand
-- Signed proofs that count once: assertions of applications, and proofs that a token is sent by the holder of its key.
-- Unlogged: one write a proof without WAL. A crash of PostgreSQL empties it, so that a proof of the last ten minutes that somebody
-- recorded would count once more.
create unlogged table used_proofs (
  -- Whose proof: `assertion:` and the id of the application, or `dpop:` and the thumbprint of the key.
  owner text,
  jti_hash bytea,
  expires_at timestamptz not null,
  constraint used_proofs_owner_jti_hash_pkey primary key (owner, jti_hash),
  constraint used_proofs_jti_hash_check check (octet_length(jti_hash) = 32)
);
create index used_proofs_expires_at_idx on used_proofs (expires_at);

-- Phase: expand
-- Keys of several purposes and algorithms can stand side by side. An instance uses only those that it knows: a key that signs
-- for another purpose is neither published with the keys of sessions nor retired after one of them.
alter table signing_keys
  add column purpose text not null default 'session',
  -- As JWS names it (RFC 7518, RFC 8037).
  add column alg text not null default 'EdDSA';

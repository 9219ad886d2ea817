-- Phase: expand
-- Locks: access_grants
-- When the last token of a grant ends by itself, so that the clean-up finds the rows of those that have none. Null: not known to the
-- writer, such as before its code was exchanged.
alter table access_grants add column ends_at timestamptz;
create index access_grants_ends_idx
  on access_grants (least(revoked_at, expires_at, coalesce(ends_at, code_expires_at)));

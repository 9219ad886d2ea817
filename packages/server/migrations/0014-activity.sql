-- What a console shows of activity: the names of affected records in the audit log, and the sessions of all users.

-- The name of the affected record when the entry was written. Entries of earlier versions, and of instances that still run
-- one, have none; readers take theirs from `details`.
alter table audit_logs add column resource_name text;

-- The sessions of all users, newest first, in pages.
create index sessions_live_created_at_id_idx on sessions (created_at desc, id desc) where revoked_at is null;

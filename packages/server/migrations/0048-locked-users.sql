-- Phase: expand
-- The locked users are the locks in force joined with the users. This drops the list of migration 0037, which the last release
-- does not know.

-- In the order in which the service locks their rows: users, then their failed sign-ins.
drop trigger users_unlist_locked_truncated on users;
drop trigger user_changes_list_deleted on user_changes;
drop trigger login_attempts_log_inserted on login_attempts;
drop trigger login_attempts_log_updated on login_attempts;
drop trigger login_attempts_log_deleted on login_attempts;
drop trigger login_attempts_log_truncated on login_attempts;
drop table locked_users, lock_changes;
drop function log_lock(), list_locked(), unlist_locked();

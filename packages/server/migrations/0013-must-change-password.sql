-- Users who must change their password before anything else, and the search for locked emails.

alter table users add column must_change_password boolean not null default false;

-- The record shows the column, so its version tells readers about changes.
drop trigger users_raise_record_version on users;
create trigger users_raise_record_version
  before update of email, first_name, last_name, is_active, is_superuser, verified, must_change_password, updated_at
  on users for each row execute function raise_record_version();

-- Few emails are locked. Lists of users by status begin with them.
create index login_attempts_locked_until_idx on login_attempts (locked_until) where locked_until is not null;

-- What administration needs beyond the accounts: versions of records, quick searches, replayed requests.

-- Every change of a record raises its version, whoever makes it: the value of its ETag.
create function raise_record_version() returns trigger language plpgsql as $$
begin
  new.version := old.version + 1;
  return new;
end $$;

alter table users add column version integer not null default 1;
alter table roles add column version integer not null default 1;
alter table role_groups add column version integer not null default 1;
alter table permission_groups add column version integer not null default 1;

create trigger users_raise_record_version before update on users
  for each row execute function raise_record_version();
create trigger roles_raise_record_version before update on roles
  for each row execute function raise_record_version();
create trigger role_groups_raise_record_version before update on role_groups
  for each row execute function raise_record_version();
create trigger permission_groups_raise_record_version before update on permission_groups
  for each row execute function raise_record_version();

-- Answers of creating requests that carried an Idempotency-Key. Without a status the request is still being worked on.
create table idempotency_keys (
  user_id uuid not null constraint idempotency_keys_user_id_fkey references users (id) on delete cascade,
  key text not null,
  request_hash bytea not null,
  status integer,
  etag text,
  body text,
  created_at timestamptz not null default now(),
  constraint idempotency_keys_user_id_key_pkey primary key (user_id, key),
  constraint idempotency_keys_key_check check (char_length(key) between 1 and 255)
);
create index idempotency_keys_created_at_idx on idempotency_keys (created_at);

-- Phase: expand
-- Recovery after a reset of second factors, and lists of the users who have one.

-- An administrator hands over the recovery link in person, so no mail may bring one.
alter table users add column recovery_handed_over boolean not null default false;

-- Few have a factor at first, and few have none where one is required: both are found without reading all users.
create index if not exists users_with_factor_created_at_id_idx on users (created_at, id) where has_factor;
create index if not exists users_without_factor_created_at_id_idx on users (created_at, id) where not has_factor;

-- Phase: expand
-- Recovery after a reset of second factors, and lists of the users who have one.

-- An administrator hands over the recovery link in person, so no mail may bring one.
alter table users add column recovery_handed_over boolean not null default false;

-- Few have a factor at first, and few have none where one is required: both are found without reading all users. The index has
-- two keys, so it is built in one scan and stays small; lists sort what they find.
create index if not exists users_has_factor_idx on users (has_factor);

-- How many users have a factor, as a job counted last, for the metrics. Up to 10,000 are counted when somebody asks.
create table factor_user_counts (
  only_row boolean constraint factor_user_counts_only_row_pkey primary key default true,
  users bigint not null,
  counted_at timestamptz not null,
  constraint factor_user_counts_only_row_check check (only_row)
);

-- What makes a session unusual: a network that its user had not signed in from, and another network than the sign-in's.

-- The /24 or /64 of the sign-in, and the address of the last use; null in sessions of earlier versions, and of instances that
-- still run one. Sessions are kept for 30 days after their end, so a network counts as known for so long.
alter table sessions add column origin_network text,
  add column is_new_network boolean not null default false,
  add column last_address text;

-- The pattern admits only text that PostgreSQL can convert, whatever an import brought.
update sessions set origin_network = case
    when origin_address ~ '^\d{1,3}(\.\d{1,3}){3}$' then regexp_replace(origin_address, '\.\d+$', '.0/24')
    else network(set_masklen(origin_address::inet, 64))::text end
where origin_address ~ '^\d{1,3}(\.\d{1,3}){3}$'
  or origin_address ~ '^([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$'
  or origin_address ~ '^([0-9a-f]{1,4}(:[0-9a-f]{1,4}){0,5})?::([0-9a-f]{1,4}(:[0-9a-f]{1,4}){0,5})?$'
    and cardinality(string_to_array(origin_address, ':')) <= 8;

-- Whether a user has signed in from a network, however many sessions they have.
create index sessions_user_id_origin_network_idx on sessions (user_id, origin_network);

-- The new index begins with the same column.
drop index sessions_user_id_idx;

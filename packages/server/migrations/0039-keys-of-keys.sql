-- Phase: expand
-- What a key may pass on: no more than its maker held, and no longer than the key that made it.

alter table api_keys
  -- Whether the narrowing is what the maker of the key held when they made it.
  add column is_narrowed_by_maker boolean not null default false,
  -- The key that made this one, last, after those by which that one came about. Only keys that are still recorded.
  add column made_with_key_ids uuid[] not null default '{}';

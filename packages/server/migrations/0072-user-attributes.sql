-- Phase: expand
-- Attributes: what products keep about people beside names. A catalogue of declared attributes, and values of users.

create table user_attributes (
  id uuid constraint user_attributes_id_pkey primary key,
  -- Neither the name nor the type ever changes.
  name text not null constraint user_attributes_name_key unique
    constraint user_attributes_name_check check (name ~ '^[a-z][a-z0-9_]{0,49}$'),
  label text not null constraint user_attributes_label_check check (char_length(label) between 1 and 100),
  description text not null constraint user_attributes_description_check check (char_length(description) <= 1000),
  type text not null constraint user_attributes_type_check
    check (type in ('string', 'number', 'integer', 'boolean', 'date', 'url', 'enum', 'json')),
  -- What an enum allows; null for every other type.
  "values" text[] constraint user_attributes_values_check check (cardinality("values") between 1 and 100),
  -- Of a string, in characters; null for every other type.
  max_length integer constraint user_attributes_max_length_check check (max_length between 1 and 4000),
  "unique" boolean not null,
  searchable boolean not null,
  self text not null constraint user_attributes_self_check check (self in ('none', 'read', 'write')),
  required boolean not null,
  claims boolean not null,
  sensitive boolean not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  created_by_id uuid constraint user_attributes_created_by_id_fkey references users (id) on delete set null,
  version integer not null default 1,
  constraint user_attributes_type_values_check check ((type = 'enum') = ("values" is not null)),
  constraint user_attributes_type_max_length_check check ((type = 'string') = (max_length is not null)),
  constraint user_attributes_type_unique_searchable_check check (type <> 'json' or not ("unique" or searchable))
);
create index user_attributes_created_by_id_idx on user_attributes (created_by_id);
create trigger user_attributes_raise_version before update on user_attributes
  for each row execute function raise_record_version();

create table user_attribute_values (
  user_id uuid not null
    constraint user_attribute_values_user_id_fkey references users (id) on delete cascade,
  attribute_id uuid not null
    constraint user_attribute_values_attribute_id_fkey references user_attributes (id) on delete restrict,
  value jsonb not null,
  -- SHA-256 of the value as it is compared: a string in lower case. Of one size, whatever the value. Empty for JSON.
  key bytea not null constraint user_attribute_values_key_check check (octet_length(key) in (0, 32)),
  -- As the attribute says: an index cannot read it there.
  is_unique boolean not null,
  constraint user_attribute_values_user_id_attribute_id_pkey primary key (user_id, attribute_id)
);
create index user_attribute_values_attribute_id_key_user_id_idx
  on user_attribute_values (attribute_id, key, user_id);
create unique index user_attribute_values_attribute_id_key_key
  on user_attribute_values (attribute_id, key) where is_unique;

-- Phase: expand
-- Locks: users, permission_groups, applications, application_tokens
-- API resources: APIs that access tokens of applications are made for (RFC 8707), and what applications may carry there.

create table api_resources (
  id uuid constraint api_resources_id_pkey primary key,
  -- The audience of its tokens: an absolute URI.
  identifier text not null constraint api_resources_identifier_key unique,
  name text not null,
  description text not null default '',
  access_token_seconds integer not null
    constraint api_resources_access_token_seconds_check check (access_token_seconds between 60 and 3600),
  signing_alg text not null constraint api_resources_signing_alg_check check (signing_alg in ('RS256', 'ES256')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  created_by_id uuid constraint api_resources_created_by_id_fkey references users (id) on delete set null,
  version integer not null default 1,
  constraint api_resources_identifier_check check (char_length(identifier) between 1 and 2000),
  constraint api_resources_name_check check (char_length(name) between 1 and 250),
  constraint api_resources_description_check check (char_length(description) <= 1000)
);
create index api_resources_created_by_id_idx on api_resources (created_by_id);

-- Every change of the record writes updated_at. The deletion of its author is none.
create trigger api_resources_raise_record_version
  before update of identifier, updated_at on api_resources
  for each row execute function raise_record_version();

-- The permissions of these groups are its scopes.
create table api_resource_groups (
  api_resource_id uuid not null
    constraint api_resource_groups_api_resource_id_fkey references api_resources (id) on delete cascade,
  permission_group_id uuid not null
    constraint api_resource_groups_permission_group_id_fkey references permission_groups (id) on delete restrict,
  constraint api_resource_groups_api_resource_id_permission_group_id_pkey
    primary key (api_resource_id, permission_group_id)
);
create index api_resource_groups_permission_group_id_idx on api_resource_groups (permission_group_id);

-- Ids of permissions without foreign keys: one that is deleted names nothing, and none gets its id again.
create table application_resources (
  application_id uuid not null
    constraint application_resources_application_id_fkey references applications (id) on delete cascade,
  resource_id uuid not null
    constraint application_resources_resource_id_fkey references api_resources (id) on delete restrict,
  permission_ids uuid[] not null,
  constraint application_resources_application_id_resource_id_pkey primary key (application_id, resource_id)
);
create index application_resources_resource_id_idx on application_resources (resource_id);

-- Keys of applications are named by texts. Nothing wrote the column so far.
alter table application_tokens alter column key_id type text;

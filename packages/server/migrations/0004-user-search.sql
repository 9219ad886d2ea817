-- Finding users among many: the orders of the list, part of a name or e-mail address, and who is a superuser.

-- Pages by last name. The included column lets the order be read from the index alone.
create index users_last_name_id_idx on users (lower(last_name), id) include (last_name);
create index users_superuser_idx on users (id) where is_superuser;

-- Orders are read from an index alone, so the id stands in each.
create index users_email_id_idx on users (email, id);

-- What a search looks into. The line feed keeps a match from spanning name and e-mail address.
alter table users add column search_text text not null
  generated always as (lower(first_name || ' ' || last_name || E'\n' || email)) stored;

-- Searches without trigrams read every row: right, but slow from some 100,000 users on. The extension is trusted since
-- PostgreSQL 13, so the owner of a database may create it; where even that is refused or the server does not carry it,
-- the service works without. To add it later: create the extension, then the index, as the last statement does.
do $$
declare
  trigram_schema text;
begin
  begin
    create extension if not exists pg_trgm;
  exception when insufficient_privilege or undefined_file or feature_not_supported or invalid_schema_name then
    raise notice 'pg_trgm is not available here: searching users will read every row';
  end;
  select n.nspname into trigram_schema
    from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm';
  if trigram_schema is not null then
    execute format('create index users_search_text_idx on users using gin (search_text %I.gin_trgm_ops)', trigram_schema);
  end if;
end $$;

-- Phase: expand
-- Searches find names however they are typed: José by jose, Straße by strasse, O’Neil by O'Neil.

-- Returns a text without what people leave out when they type it: case, accents, ligatures, the shapes of apostrophes and
-- hyphens. Of an ASCII text only the case goes. The ranges are the marks of Latin, Greek, Cyrillic, Hebrew and Arabic; those of
-- other scripts are vowels. PostgreSQL normalizes in UTF8 only, so in other encodings only the case goes. It takes some
-- microseconds, which `cost` says; searches end early, so they gain nothing from parallel workers.
create or replace function fold_text(content text) returns text language plpgsql immutable strict parallel restricted cost 200 as $$
declare
  folded text;
begin
  if getdatabaseencoding() <> 'UTF8' then return lower(content); end if;
  folded := lower(regexp_replace(normalize(content, nfkd), '[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+', '', 'g'));
  -- Letters that do not decompose. Few names have one, and replacing them takes as long as all the rest.
  if folded ~ '[ßẞæÆœŒþÞøØłŁđĐðÐıħĦŧŦςΣ‘’ʼ′‐‒–—−]' then
    return replace(replace(replace(replace(replace(replace(replace(replace(
      translate(folded, 'øØłŁđĐðÐıħĦŧŦςΣ‘’ʼ′‐‒–—−', 'oollddddihhttσσ''''''''-----'),
      'ß', 'ss'), 'ẞ', 'ss'), 'æ', 'ae'), 'Æ', 'ae'), 'œ', 'oe'), 'Œ', 'oe'), 'þ', 'th'), 'Þ', 'th');
  end if;
  return folded;
end $$;

-- Texts in ASCII are found by the other indexes, and cost these nothing. Operators may create the function and both indexes,
-- concurrently, before.
create index if not exists users_folded_parts_idx on users using gin (short_parts(fold_text(search_text)))
  where octet_length(search_text) <> length(search_text);
do $$
declare
  trigram_schema text;
begin
  select n.nspname into trigram_schema
    from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm';
  if trigram_schema is not null then
    execute format('create index if not exists users_folded_text_idx on users using gin (fold_text(search_text) %I.gin_trgm_ops) where octet_length(search_text) <> length(search_text)', trigram_schema);
  end if;
end $$;

-- Phase: expand
-- Searches find names however they are typed: without accents, with any apostrophe.

-- Returns a text without what people leave out when they type it: case, accents, ligatures, the shapes of apostrophes and
-- hyphens. Of an ASCII text only the case goes. The ranges are the marks of Latin, Greek, Cyrillic, Hebrew and Arabic; those of
-- other scripts are vowels. It takes some microseconds, which `cost` says; searches end early, so they gain nothing from
-- parallel workers.
create or replace function fold_text(content text) returns text language plpgsql immutable strict parallel restricted cost 200 as $$
declare
  folded text := content;
begin
  -- The acute accent, which would become a blank, and the Hebrew hyphen, which is among the marks.
  if folded ~ '[\u00b4\u05be]' then
    folded := regexp_replace(regexp_replace(folded, '\u00b4', '''', 'g'), '\u05be', '-', 'g');
  end if;
  folded := lower(regexp_replace(normalize(folded, nfkd),
    '[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+', '', 'g'));
  -- Letters that do not decompose. Few names have one, and replacing them takes as long as all the rest.
  if folded ~ '[\u00c6\u00d0\u00d8\u00de\u00df\u00e6\u00f0\u00f8\u00fe\u0110\u0111\u0126\u0127\u0131\u0141\u0142\u0152\u0153\u0166\u0167\u02bc\u03a3\u03c2\u1e9e\u2010\u2012-\u2014\u2018\u2019\u2032\u2212]' then
    folded := regexp_replace(folded, '[\u02bc\u2018\u2019\u2032]', '''', 'g');
    folded := regexp_replace(folded, '[\u2010\u2012-\u2014\u2212]', '-', 'g');
    folded := regexp_replace(folded, '[\u00df\u1e9e]', 'ss', 'g');
    folded := regexp_replace(folded, '[\u00c6\u00e6]', 'ae', 'g');
    folded := regexp_replace(folded, '[\u0152\u0153]', 'oe', 'g');
    folded := regexp_replace(folded, '[\u00de\u00fe]', 'th', 'g');
    folded := regexp_replace(folded, '[\u00d8\u00f8]', 'o', 'g');
    folded := regexp_replace(folded, '[\u0141\u0142]', 'l', 'g');
    folded := regexp_replace(folded, '[\u00d0\u00f0\u0110\u0111]', 'd', 'g');
    folded := regexp_replace(folded, '\u0131', 'i', 'g');
    folded := regexp_replace(folded, '[\u0126\u0127]', 'h', 'g');
    folded := regexp_replace(folded, '[\u0166\u0167]', 't', 'g');
    folded := regexp_replace(folded, '[\u03a3\u03c2]', chr(963), 'g');
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

-- Phase: expand
-- Less work for each new user: the keys of the index on short parts of names and emails, without a query for each user.

-- Returns the same set as before, so the index stays valid. Each replacement puts a separator before every two characters,
-- the second one from the second character on. A text that contains the separator itself takes the slower way.
create or replace function short_parts(content text) returns text[] language plpgsql immutable strict parallel safe cost 1000 as $$
declare
  characters text[] := string_to_array(content, null);
begin
  if strpos(content, E'\x01') > 0 then
    return characters || array(
      select one || next from unnest(characters, characters[2:]) as pair (one, next) where next is not null);
  end if;
  return characters || string_to_array(substr(regexp_replace(content, '..?', E'\x01\\&', 'g')
    || regexp_replace(substr(content, 2), '..?', E'\x01\\&', 'g'), 2), E'\x01');
end $$;

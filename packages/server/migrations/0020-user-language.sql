-- The language of a user's mails.

-- A BCP 47 primary language tag; null until a request of the user has named one. Any tag is allowed here, so that a new
-- language needs no migration; a language without texts gets the mails of the default language. The record does not
-- show the column, so a change leaves its version alone.
alter table users add column language text,
  add constraint users_language_check check (language ~ '^[a-z]{2,3}$');

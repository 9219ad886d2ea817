-- People with a single name leave the last name empty; it is never null.
alter table users
  drop constraint users_last_name_check,
  add constraint users_last_name_check check (char_length(last_name) <= 100);

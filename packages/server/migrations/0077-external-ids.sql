-- Phase: expand
-- Locks: users, service_accounts
-- The id that another system gave to a person or a program. Decisions find subjects by it, after ids, emails and names, so it has the form
-- of neither an id nor an email.

alter table users add column external_id text
  constraint users_external_id_check check (
    char_length(external_id) between 1 and 250
    and external_id !~ '@.*\.' and external_id !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
  );
alter table service_accounts add column external_id text
  constraint service_accounts_external_id_check check (
    char_length(external_id) between 1 and 250
    and external_id !~ '@.*\.' and external_id !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
  );
-- Partial, so that they are no keys that rows of other tables could refer to: a change of a user waits for none of these.
create unique index users_external_id_key on users (external_id) where external_id is not null;
create unique index service_accounts_external_id_key on service_accounts (external_id) where external_id is not null;

-- Phase: expand
-- Claims that applications are told beyond those of the scopes. Not jsonb: the order of the members of a map counts.
alter table applications add column claims json not null default '[]';

-- Phase: expand
-- Locks: erasures
-- An erasure also goes through the entries of what the person did while acting as somebody else. Wider than before, and instances that
-- do not know the stage never come to it: they have no erasures.

alter table erasures drop constraint erasures_stage_check;
alter table erasures add constraint erasures_stage_check check (stage in ('actor', 'resource', 'email', 'acted_by'));

-- Phase: expand
-- Deliveries are noted here before they begin, and leave with the record of their outcome. What an instance that dies leaves
-- has been tried once more. There are few: each target has a bound on what is under way.
alter table delivery_targets add column under_way bigint[] not null default '{}';

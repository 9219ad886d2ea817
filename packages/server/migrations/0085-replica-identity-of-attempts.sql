-- Phase: expand
-- Attempts of deliveries are deleted with their delivery. Logical replication needs to know which.
alter table delivery_attempts replica identity full;

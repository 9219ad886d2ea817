-- Phase: expand
-- Lets the jobs delete rows of these tables when a publication includes all tables, as for logical replication. They have
-- no primary key, because several rows may be equal. They are small, and only jobs delete rows.

alter table user_changes replica identity full;
alter table live_session_changes replica identity full;
alter table live_session_recounts replica identity full;
alter table role_holder_changes replica identity full;

-- Phase: expand
-- Who holds which role now. Every statement that reads roles of users or service accounts reads these views; only
-- modules/assignments writes the tables. A condition or another source of roles is added here.

-- One view for each kind of subject, which PostgreSQL replaces by the table: plans, estimates and indexes are the table's.
create view held_user_roles as select user_id, role_id from user_roles;
create view held_account_roles as select service_account_id, role_id from service_account_roles;

-- All subjects. The planner has no statistics for a union: where many rows match, read one of the views above.
create view held_roles as
  select 'user'::text as subject_type, user_id as subject_id, role_id from held_user_roles
  union all
  select 'service_account'::text, service_account_id, role_id from held_account_roles;

-- Instances of the last release read this view while an upgrade runs.
create or replace view subject_roles as select subject_type, subject_id, role_id from held_roles;

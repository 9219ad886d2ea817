-- Pages of the holders of a role, in the order of their ids, also for roles that hundreds of thousands hold.

create index user_roles_role_id_user_id_idx on user_roles (role_id, user_id);
create index service_account_roles_role_id_service_account_id_idx on service_account_roles (role_id, service_account_id);

-- The new indexes begin with the same column.
drop index user_roles_role_id_idx;
drop index service_account_roles_role_id_idx;

-- Which permissions are the service's own. A name that a later version brings may be taken by a record of the customer:
-- only this column tells the two apart.
alter table permissions add column is_builtin boolean not null default false;

-- Those that the service has had up to now.
update permissions set is_builtin = true where name in (
  'user.read', 'user.update',
  'users.read', 'users.create', 'users.update', 'users.delete',
  'self.update_profile',
  'role.read', 'role.create', 'role.update', 'role.delete',
  'role_group.read', 'role_group.create', 'role_group.update', 'role_group.delete',
  'permission_group.read', 'permission_group.create', 'permission_group.update', 'permission_group.delete',
  'permission.read', 'permission.create', 'permission.delete',
  'audit_log.read'
);

// German.
import type { Messages } from '../en/index.ts';
import { access } from './access/access.ts';
import { authentication } from './access/authentication.ts';
import { matrix } from './access/matrix.ts';
import { permissions } from './access/permissions.ts';
import { roleGroups } from './access/role-groups.ts';
import { roles } from './access/roles.ts';
import { account } from './account.ts';
import { audit } from './audit/audit.ts';
import { common } from './common.ts';
import { overview } from './overview.ts';
import { reference } from './reference.ts';
import { serviceAccounts } from './service-accounts.ts';
import { sessions } from './sessions.ts';
import { settings } from './settings.ts';
import { users } from './users/users.ts';

export const de: Messages = {
  common,
  overview,
  users,
  roles,
  matrix,
  roleGroups,
  permissions,
  access,
  authentication,
  sessions,
  audit,
  serviceAccounts,
  settings,
  account,
  reference,
};

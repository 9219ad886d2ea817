// German.
import type { Messages } from '../en/index.ts';
import { access } from './access.ts';
import { account } from './account.ts';
import { audit } from './audit.ts';
import { common } from './common.ts';
import { matrix } from './matrix.ts';
import { overview } from './overview.ts';
import { permissions } from './permissions.ts';
import { reference } from './reference.ts';
import { roleGroups } from './role-groups.ts';
import { roles } from './roles.ts';
import { serviceAccounts } from './service-accounts.ts';
import { sessions } from './sessions.ts';
import { settings } from './settings.ts';
import { users } from './users.ts';

export const de: Messages = {
  common,
  overview,
  users,
  roles,
  matrix,
  roleGroups,
  permissions,
  access,
  sessions,
  audit,
  serviceAccounts,
  settings,
  account,
  reference,
};

// English. The type of these texts is what every other language must have.
import type { Widened } from '../../../common/messages/type.ts';
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

export const en = {
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

export type Messages = Widened<typeof en>;

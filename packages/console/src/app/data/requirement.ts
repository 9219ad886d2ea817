// What the person must do first. Until then the service refuses everything but their account.
import type { User } from '@castellan/sdk';

export type Requirement = 'password_change';

export const requirementOf = (user: Pick<User, 'must_change_password'>): Requirement | null =>
  user.must_change_password ? 'password_change' : null;

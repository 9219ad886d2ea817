// What a user may have to do before their sessions count for anything else. A route declares which of these it stays open
// to (`openTo` of its config).
import type { ErrorCode } from '@castellan/contract/errors';

/** The code that refuses every other operation until it is done. */
export const requirementCodes = {
  password_change: 'password_change_required',
} as const satisfies Record<string, ErrorCode>;

export type Requirement = keyof typeof requirementCodes;

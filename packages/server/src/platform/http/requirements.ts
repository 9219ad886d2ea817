// What a user may have to do before their sessions count for anything else. A route declares which of these it stays open
// to (`openTo` of its config).
import type { ErrorCode } from '@castellan/contract/errors';

/** The codes that refuse every other operation until it is done. */
export const requirementCodes = {
  password_change: ['password_change_required'],
  second_factor: ['step_up_required', 'second_factor_enrolment_required'],
} as const satisfies Record<string, readonly ErrorCode[]>;

export type Requirement = keyof typeof requirementCodes;

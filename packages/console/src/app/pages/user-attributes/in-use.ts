// How many users have values that stand in the way of a change of an attribute.
import { CastellanError } from '@castellan/sdk';

/** Returns the number that a refusal tells; null for other failures. */
export const usersInTheWay = (error: unknown): number | null =>
  error instanceof CastellanError && error.code === 'user_attribute_in_use' && error.body?.users !== undefined
    ? Number(error.body.users)
    : null;

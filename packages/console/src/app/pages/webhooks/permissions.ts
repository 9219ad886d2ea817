// What a person may do with webhooks.

/** Returns the first of these permissions that the person lacks; null if they hold all. */
export const missingFor = (
  can: (permission: string) => boolean,
  ...needed: readonly string[]
): string | null => needed.find((one) => !can(one)) ?? null;

// How the app asks for the record of the signed-in person.

/** Of the permissions, only those that decide what the app shows. */
export const OWN_PERMISSIONS = 'builtin';

export const ownRecord = { query: { permissions: OWN_PERMISSIONS } } as const;

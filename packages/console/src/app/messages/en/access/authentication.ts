// Texts of what roles and permissions ask of sign-ins, as their pages show it.

export const authentication = {
  role: {
    title: 'Holders must sign in with',
    levels: { none: 'Password', aal2: 'Second factor', phr: 'Passkey or security key' },
    from: 'From',
    since: 'Since',
    change: 'Change requirement',
  },
  permission: {
    title: 'Required of sign-ins',
    asksFor: 'Asks for',
    levels: {
      none: 'Nothing more',
      aal1: 'Any proof',
      aal2: 'Second factor',
      phr: 'Passkey or security key',
    },
    age: 'Not older than',
    anyAge: 'Any age',
    change: 'Change requirement',
  },
  holders: 'Holders',
  counts: (holders: string, without: string) => `${holders}, ${without} without such a factor`,
};

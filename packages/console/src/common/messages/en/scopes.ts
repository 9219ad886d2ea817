// What the scopes of applications let them do, in English, to the person whom it is about.
export const scopeTexts: Readonly<Record<string, string>> = {
  openid: 'Know that it is you',
  profile: 'Read your name',
  email: 'Read your email address',
  roles: 'Read your roles',
  groups: 'Read the groups of your roles',
  permissions: 'Read your permissions',
  offline_access: 'Keep this access when you are not there',
};

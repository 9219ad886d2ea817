// What the scopes of applications let them do, in German, to the person whom it is about.
export const scopeTexts: Readonly<Record<string, string>> = {
  openid: 'Wissen, dass Sie es sind',
  profile: 'Ihren Namen lesen',
  email: 'Ihre E-Mail-Adresse lesen',
  roles: 'Ihre Rollen lesen',
  groups: 'Die Gruppen Ihrer Rollen lesen',
  permissions: 'Ihre Berechtigungen lesen',
  offline_access: 'Diesen Zugriff behalten, wenn Sie nicht da sind',
};

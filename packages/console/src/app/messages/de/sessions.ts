// Texte der Seite Sitzungen und von Listen von Sitzungen.
import { createPlural } from '../../../common/language.ts';
import type { Messages } from '../en/index.ts';

const plural = createPlural('de');

export const sessions: Messages['sessions'] = {
  title: 'Sitzungen',
  browserOn: (browser, system) => `${browser} unter ${system}`,
  unknownDevice: 'Unbekanntes Gerät',
  unknownNetwork: 'Unbekanntes Netz',
  newNetwork: 'Neues Netz',
  changedNetwork: 'Netz hat gewechselt',
  lastNetwork: 'Zuletzt verwendet aus',
  current: 'Diese Sitzung',
  acting: 'In fremdem Namen',
  actedBy: (name) => `${name} handelt im Namen dieser Person`,
  lastUsed: 'Zuletzt aktiv',
  began: (ways) => `Angemeldet mit ${ways}`,
  ways: {
    password: 'Passwort',
    device: 'vertrautem Gerät',
    recovery_link: 'Wiederherstellungslink',
    provider: 'Anmeldedienst',
    totp: 'Authenticator-App',
    recovery_code: 'Wiederherstellungscode',
    passkey: 'Passkey oder Sicherheitsschlüssel',
  },
  started: 'Begonnen',
  end: 'Beenden',
  endOf: (name) => `Sitzung beenden: ${name}`,
  endOne: 'Sitzung beenden',
  askOne: (device) => `Sitzung beenden: ${device}?`,
  scope: 'Was endet',
  scopeOne: 'Nur diese Sitzung',
  scopePerson: (name) => `Alle Sitzungen von ${name}`,
  explainOne: 'Das Gerät wird sofort abgemeldet. Links in E-Mails an den Benutzer verfallen ebenfalls.',
  explainOwn: 'Das ist die Sitzung, die Sie gerade verwenden: Sie werden abgemeldet.',
  ended: 'Die Sitzung ist beendet.',
  groupOf: (count, isPart) => (isPart ? `${count}+ Sitzungen` : `${count} Sitzungen`),
  networkNumber: (count) => plural(count, { one: '# Netz', other: '# Netze' }),
  logOf: (name, address) => `Protokoll dieses Benutzers von dieser Adresse: ${name}, ${address}`,
  endGroup: 'Alle beenden',
  endGroupOf: (count, name) => `Alle beenden: ${count} Sitzungen, ${name}`,
  count: (count) => plural(count, { one: '# aktive Sitzung', other: '# aktive Sitzungen' }),
  empty: 'Niemand ist angemeldet.',
  filters: {
    label: 'Sitzungen filtern',
    active: 'Aktive Filter',
    search: 'Name oder E-Mail',
    address: 'Adresse oder Netz, etwa 203.0.113.0/24',
    olderThan: 'Zuletzt aktiv vor',
    user: (name) => `Benutzer: ${name}`,
  },
  more: 'Mehr laden',
  shownOf: (shown, total) => `${shown} von ${total}`,
  networks: 'Netze',
  networksOf: (count) =>
    plural(count, { one: 'Aus der # angezeigten Sitzung', other: 'Aus den # angezeigten Sitzungen' }),
  networkCount: (count) => (count === 1 ? 'Sitzung' : 'Sitzungen'),
  endMatching: (count) =>
    plural(count, { one: '# passende Sitzung beenden', other: 'Alle # passenden Sitzungen beenden' }),
  endAllMatching: 'Alle passenden Sitzungen beenden',
  tooManyToCount:
    'Zu viele Sitzungen, um die passenden zu zählen. Grenzen Sie die Filter ein, um sie zu beenden.',
  askMatching: (count) => plural(count, { one: '# Sitzung beenden?', other: '# Sitzungen beenden?' }),
  explainMatching:
    'Alle Sitzungen, die zu den Filtern passen, enden sofort, auch Ihre eigene. Eine Anfrage beendet höchstens 10.000 Sitzungen von höchstens 1.000 Benutzern, oder keine.',
  endedMany: (sessions, people) =>
    `${plural(sessions, { one: '# Sitzung', other: '# Sitzungen' })} von ${plural(people, { one: '# Benutzer', other: '# Benutzern' })} beendet.`,
};

// Texte der Seite „Mein Konto“.
import { createPlural } from '../../../common/language.ts';
import type { Messages } from '../en/index.ts';

const plural = createPlural('de');

export const account: Messages['account'] = {
  title: 'Mein Konto',
  signOut: 'Abmelden',
  signOutEverywhere: 'Überall abmelden',
  signOutEverywhereText: 'Alle Sitzungen Ihres Kontos werden beendet, auch in diesem Browser.',
  mustChange: {
    title: 'Wählen Sie zuerst ein neues Passwort',
    text: 'Die Administration bittet Sie, Ihr Passwort zu ändern. Bis dahin steht Ihnen nichts anderes offen.',
  },
  profile: {
    title: 'Profil',
    firstName: 'Vorname',
    lastName: 'Nachname',
    email: 'E-Mail-Adresse',
    changeEmail: 'E-Mail-Adresse ändern',
    roles: 'Rollen',
    rolesFixed: 'Rollen vergibt die Administration.',
    noRoles: 'Keine Rollen',
    since: (day) => `Mitglied seit ${day}`,
    saved: 'Ihre Namen sind gespeichert.',
  },
  password: {
    title: 'Passwort',
    current: 'Aktuelles Passwort',
    next: 'Neues Passwort',
    submit: 'Passwort ändern',
    help: 'Alle anderen Sitzungen Ihres Kontos werden beendet.',
    changed: 'Ihr Passwort ist geändert. Alle anderen Sitzungen wurden beendet.',
  },
  sessions: {
    title: 'Meine Sitzungen',
    text: 'Wo Sie angemeldet sind. Beenden Sie, was Sie nicht kennen, und ändern Sie dann Ihr Passwort.',
    endOthers: (count) =>
      plural(count, { one: '# andere Sitzung beenden', other: '# andere Sitzungen beenden' }),
    onlyThis: 'Sie sind nur hier angemeldet.',
    ended: 'Die Sitzung ist beendet.',
    endedOthers: (count) =>
      plural(count, { one: '# Sitzung ist beendet.', other: '# Sitzungen sind beendet.' }),
    endThisTitle: 'Diese Sitzung beenden?',
    endThisText: 'Das ist die Sitzung, die Sie gerade verwenden. Sie werden abgemeldet.',
    endOthersTitle: 'Alle anderen Sitzungen beenden?',
    endOthersText: 'Sie werden sofort abgemeldet. Diese Sitzung bleibt.',
    end: 'Beenden',
  },
  access: {
    title: 'Mein Zugriff',
    text: 'Was Sie dürfen, und welche Rolle es Ihnen gibt.',
  },
};

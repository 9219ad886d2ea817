// Texte von dem, was selten und spät aufgeht. Sie laden damit.
import { createPlural } from '../../../common/language.ts';
import type { LaterMessages } from '../en/later.ts';
import { requirements } from './access/requirements.ts';
import { acting } from './acting.ts';
import { apiResources } from './applications/api-resources.ts';
import { applicationAccess } from './applications/application-access.ts';
import { applications } from './applications/applications.ts';
import { evidence } from './audit/evidence.ts';
import { emailChange } from './email-change.ts';
import { identities } from './identity-providers/identities.ts';
import { identityProviders } from './identity-providers/identity-providers.ts';
import { leaving } from './leaving.ts';
import { personalTokens } from './personal-tokens.ts';
import { secondFactors } from './second-factors.ts';
import { erasure } from './users/erasure.ts';
import { userAttributes } from './users/user-attributes.ts';
import { userBulk } from './users/user-bulk.ts';
import { userImport } from './users/user-import.ts';
import { userInvite } from './users/user-invite.ts';
import { userSecurity } from './users/user-security.ts';
import { webhooks } from './webhooks/webhooks.ts';

const plural = createPlural('de');

export const later: LaterMessages = {
  acting,
  apiResources,
  applicationAccess,
  applications,
  emailChange,
  erasure,
  evidence,
  identities,
  identityProviders,
  leaving,
  personalTokens,
  requirements,
  secondFactors,
  userAttributes,
  userBulk,
  userImport,
  userInvite,
  userSecurity,
  webhooks,
  entry: {
    changed: 'Änderungen',
    field: 'Feld',
    before: 'Vorher',
    after: 'Nachher',
    wasAdded: (name) => `hinzugefügt: ${name}`,
    wasRemoved: (name) => `entfernt: ${name}`,
    facts: 'Angaben',
    raw: 'Als JSON',
    gone: 'Diesen Eintrag gibt es nicht, oder er ist älter als die Aufbewahrungsfrist.',
  },
  feed: {
    title: 'Strom der Änderungen',
    never: 'Dieses Konto hat den Strom der Änderungen nicht gelesen.',
    none: 'Keine Verbindung ist offen.',
    most: (count) =>
      plural(count, {
        one: 'Höchstens # Verbindung ist offen.',
        other: 'Höchstens # Verbindungen sind offen.',
      }),
    many: (count) => `${count} Verbindungen oder mehr können offen sein.`,
    why: (minutes) =>
      `So viele wurden in den letzten ${minutes} Minuten auf allen Instanzen geöffnet. Keine besteht länger.`,
    last: 'Zuletzt begonnen am',
  },
  savedFilters: {
    none: 'Noch keine gespeicherten Filter.',
    setFirst: 'Setzen Sie auf der Seite einen Filter, um ihn hier zu speichern.',
    name: 'Aktuelle Filter speichern als',
    taken: 'Dieser Name ist vergeben. Wählen Sie einen anderen.',
    remove: (name) => `${name} entfernen`,
  },
  /** Ends the sessions of one person on one device. */
  sessionGroup: {
    end: (count) => plural(count, { one: '# Sitzung beenden', other: '# Sitzungen beenden' }),
    ask: (count, name) =>
      plural(count, { one: `# Sitzung beenden: ${name}?`, other: `# Sitzungen beenden: ${name}?` }),
    onlyListed: 'Nur die angezeigten enden. Es kann weitere geben: Laden Sie sie vorher.',
    ended: (count) => plural(count, { one: '# Sitzung ist beendet.', other: '# Sitzungen sind beendet.' }),
  },
  curl: {
    copy: 'Als curl kopieren',
    text: 'Legen Sie einen API-Schlüssel oder ein Access-Token in CASTELLAN_TOKEN ab. Änderungen brauchen das Token eines Dienstkontos. Geheimnisse fehlen: Setzen Sie auch die anderen Variablen.',
  },
  shortcuts: {
    title: 'Tastenkürzel',
    onPage: 'Auf dieser Seite',
    everywhere: 'Überall',
    does: {
      palette: 'Personen, Rollen, Seiten und Aktionen suchen',
      search: 'Zum Suchfeld der Seite',
      help: 'Diese Liste anzeigen',
      close: 'Oberste Ebene schließen',
      rows: 'Zwischen Zeilen wechseln',
      openRow: 'Zeile öffnen',
      nextUser: 'Nächsten oder vorigen Benutzer öffnen',
      entries: 'Zwischen Einträgen wechseln',
      openEntry: 'Eintrag öffnen',
      groups: 'Zwischen Gruppen wechseln',
      groupEnds: 'Zur ersten oder letzten Gruppe',
      unfold: 'Gruppe auf- oder zuklappen',
      chooseGroup: 'Gruppe auswählen',
      moveGroup: 'Gruppe verschieben',
      findGroup: 'Zur Gruppe, deren Name so beginnt',
      cells: 'Zwischen Zellen wechseln',
      rowEnds: 'Zum Anfang oder Ende der Zeile',
      corners: 'Zum Anfang oder Ende der Matrix',
      flip: 'Zelle ändern',
      moveProvider: 'Den Anmeldedienst verschieben',
    },
    goTo: (page) => `Zu ${page}`,
    single: 'Einzelne Tasten verwenden',
    singleHelp: 'Schalten Sie dies aus, wenn einzelne Tasten Sie stören.',
    names: {
      Escape: 'Esc',
      Enter: 'Eingabe',
      Home: 'Pos1',
      End: 'Ende',
      Space: 'Leertaste',
      Alt: 'Alt',
      character: 'Buchstaben',
    },
  },
};

// Texte der Seiten über Anwendungen. Sie laden mit diesen Seiten.
import { createPlural } from '../../../../common/language.ts';
import type { LaterMessages } from '../../en/later.ts';

const plural = createPlural('de');

export const applications: LaterMessages['applications'] = {
  search: 'Nach Name oder Client-ID suchen',
  count: (count) => plural(count, { one: '# Anwendung', other: '# Anwendungen' }),
  empty: 'Verbinden Sie Ihre erste Anwendung',
  emptyText:
    'Danach melden sich Menschen bei Grafana, GitLab, einem Proxy oder Ihren eigenen Programmen mit ihrem Konto von hier an.',
  columns: {
    name: 'Name',
    type: 'Art',
    who: 'Wer sich anmelden darf',
    state: 'Zustand',
    created: 'Angelegt',
  },
  filters: {
    type: 'Art',
    everyType: 'Jede Art',
    state: 'Zustand',
    everyState: 'Aktive und inaktive',
    active: 'Aktiv',
    inactive: 'Inaktiv',
  },
  everybody: 'Jedes aktive Konto',
  holders: 'Wer eine Berechtigung hat',
  types: {
    web: 'Webanwendung',
    spa: 'Browser-Anwendung',
    native: 'Mobile oder Desktop-Anwendung',
    device: 'Gerät',
  },
  connect: {
    pick: 'Was verbinden Sie?',
    pickText: 'Ein Rezept füllt Adressen und Claims aus und zeigt die Konfiguration zum Kopieren.',
    typeText: {
      web: 'Ein Programm auf einem Server, das ein Geheimnis behalten kann.',
      spa: 'Skripte, die nur im Browser laufen.',
      native: 'Ein Programm, das man installiert, oder ein Befehl.',
      device: 'Ein Fernseher, Drucker oder Terminal ohne Browser.',
    },
    other: 'Etwas anderes wählen',
    unknown: 'Dieses Rezept gibt es nicht. Wählen Sie eines.',
    site: 'Adresse der Anwendung',
    siteHelp: 'So wie sie im Browser steht, ohne das, was hinter ? und # kommt.',
    redirect: 'Redirect-Adresse',
    redirectHelp:
      'Wohin Menschen nach der Anmeldung zurückgeschickt werden. Bibliotheken nennen sie Redirect oder Callback URI.',
    notAnAddress: (example) => `Schreiben Sie eine ganze Adresse, etwa ${example}.`,
    name: 'Name',
    nameHelp: 'Man sieht ihn dort, wo man sich anmeldet.',
    clientId: 'Client-ID',
    clientIdHelp: 'Buchstaben, Ziffern, Punkte, Striche. Sie lässt sich später nicht ändern.',
    registers: 'Was eingetragen wird',
    registersRedirect: 'Zurück geht es zu',
    registersLogout: 'Nach einer Abmeldung zu',
    registersBackchannel: 'Abmeldungen erfährt sie unter',
    registersClaim: 'Claims',
    pkce: 'PKCE ist Pflicht.',
    submit: 'Verbinden',
    done: (name) => `${name} ist eingetragen`,
    secretOnce: 'Das Geheimnis wird nur jetzt angezeigt. Es steht auch in der Konfiguration weiter unten.',
    secretLost: 'Die Antwort mit dem Geheimnis ging verloren. Legen Sie ein weiteres Geheimnis an.',
    secret: 'Client-Geheimnis',
    noSecret: 'Die Anwendung hat kein Geheimnis: Jeder könnte es dort lesen.',
    stored: 'Ich habe das Geheimnis gespeichert',
    leave: 'Ohne das Geheimnis gehen?',
    leaveText: 'Es wird nicht noch einmal angezeigt. Sie müssten ein neues anlegen.',
    configuration: 'Ihre Konfiguration',
    configurationText: 'Kopieren Sie sie in die Anwendung.',
    configurationOf: (file) => `Konfiguration für ${file}`,
    finish: 'Fertig',
  },
};

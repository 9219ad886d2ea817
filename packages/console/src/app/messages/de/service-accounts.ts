// Texte der Seite „Dienstkonten“.
import { createPlural } from '../../../common/language.ts';
import type { Messages } from '../en/index.ts';

const plural = createPlural('de');

export const serviceAccounts: Messages['serviceAccounts'] = {
  title: 'Dienstkonten',
  text: 'Programme melden sich mit den API-Schlüsseln eines Dienstkontos an.',
  create: 'Neues Dienstkonto',
  search: 'Nach Namen suchen',
  count: (count) => plural(count, { one: '# Konto', other: '# Konten' }),
  empty: 'Noch keine Dienstkonten',
  emptyText:
    'Legen Sie für jedes Programm, das diesen Dienst aufruft, eines an. So können Sie dessen Zugriff einzeln beenden.',
  columns: {
    name: 'Name',
    status: 'Status',
    roles: 'Rollen',
    used: 'Zuletzt verwendet',
    created: 'Erstellt',
  },
  tabs: { label: 'Teile des Dienstkontos', keys: 'API-Schlüssel', access: 'Zugriff', activity: 'Aktivität' },
  name: 'Name',
  description: 'Beschreibung',
  external_id: 'Externe ID',
  externalIdHelp: 'Von einem anderen System vergeben. Entscheidungen finden das Konto auch darüber.',
  roles: 'Rollen',
  created: (name) => `${name} ist angelegt. Erstellen Sie jetzt einen API-Schlüssel dafür.`,
  saved: 'Das Dienstkonto ist gespeichert.',
  activate: 'Aktivieren',
  deactivate: 'Deaktivieren',
  activated: (name) => `${name} ist aktiv.`,
  deactivated: (name) =>
    `${name} ist inaktiv. Seine Schlüssel werden abgelehnt, seine Zugriffstoken sind beendet.`,
  activateTitle: (name) => `${name} aktivieren?`,
  activateText: 'Die API-Schlüssel gelten wieder, mit den vorhandenen Rollen.',
  deactivateTitle: (name) => `${name} deaktivieren?`,
  deactivateText:
    'Seine API-Schlüssel werden ab der nächsten Anfrage abgelehnt. Seine Zugriffstoken enden endgültig.',
  deleteTitle: (name) => `${name} löschen?`,
  deleteText:
    'Seine API-Schlüssel und Token enden sofort, und seine Rollen werden entfernt. Das lässt sich nicht rückgängig machen.',
  deleted: (name) => `${name} ist gelöscht.`,
  notFound: 'Dieses Dienstkonto gibt es nicht mehr.',
  changeRoles: 'Rollen ändern',
  rolesTitle: (name) => `Rollen von ${name}`,
  rolesSaved: 'Die Rollen sind gespeichert.',
  mayDo: 'Was es darf',
  keys: {
    label: 'API-Schlüssel',
    create: 'Neuer API-Schlüssel',
    empty: 'Noch keine API-Schlüssel',
    emptyText: 'Ohne Schlüssel kann sich kein Programm als dieses Konto anmelden.',
    name: 'Name',
    nameHelp: 'Wo der Schlüssel verwendet wird, etwa „production“.',
    expires: 'Läuft ab',
    expiresHelp: 'Freiwillig. Leer: Der Schlüssel läuft nicht ab.',
    narrow: 'Berechtigungen',
    narrowAll: 'Alle Berechtigungen des Kontos',
    narrowSome: 'Nur diese',
    narrowNone: 'Geben Sie dem Konto zuerst eine Rolle.',
    narrowed: (count) => plural(count, { one: 'nur # Berechtigung', other: 'nur # Berechtigungen' }),
    byMaker: 'die sein Ersteller hatte',
    all: 'alle Berechtigungen',
    live: 'Gültig',
    ended: 'Abgelaufen',
    revoked: 'Widerrufen',
    never: 'läuft nicht ab',
    expiresOn: (day) => `läuft ab: ${day}`,
    expiredOn: (day) => `abgelaufen: ${day}`,
    revokedOn: (day) => `widerrufen: ${day}`,
    used: 'Zuletzt verwendet',
    unused: 'noch nie verwendet',
    showEnded: (count) =>
      plural(count, { one: '# beendeten Schlüssel anzeigen', other: '# beendete Schlüssel anzeigen' }),
    rotate: 'Ersetzen',
    rotateTitle: (name) => `Den Schlüssel ${name} ersetzen?`,
    rotateText: 'Sie erhalten sofort einen neuen Schlüssel. Der alte gilt noch während der Übergangszeit.',
    overlap: 'Übergangszeit',
    overlaps: {
      none: 'Keine: der alte Schlüssel endet jetzt',
      hour: '1 Stunde',
      day: '1 Tag',
      week: '1 Woche',
    },
    revoke: 'Widerrufen',
    revokeTitle: (name) => `Den Schlüssel ${name} widerrufen?`,
    revokeText:
      'Jede Anfrage mit diesem Schlüssel wird ab jetzt abgelehnt. Das lässt sich nicht rückgängig machen.',
    revokeDescendants: 'Auch jeden Schlüssel widerrufen, der damit erstellt wurde',
    revokedDone: (name) => `Der Schlüssel ${name} ist widerrufen.`,
    descendantsRevoked: (count) =>
      plural(count, {
        one: 'Auch # damit erstellter Schlüssel.',
        other: 'Auch # damit erstellte Schlüssel.',
      }),
    descendantsLeft: (count) =>
      plural(count, {
        one: '# damit erstellter Schlüssel gilt noch.',
        other: '# damit erstellte Schlüssel gelten noch.',
      }),
    actionsOf: (name) => `Schlüssel ${name}`,
  },
  secret: {
    title: 'Ihr neuer API-Schlüssel',
    text: 'Der Schlüssel wird nur dieses eine Mal angezeigt. Speichern Sie ihn jetzt im Geheimnisspeicher des Programms.',
    label: 'API-Schlüssel',
    stored: 'Ich habe das gespeichert',
    done: 'Fertig',
    lost: 'Der Schlüssel wurde erstellt, aber seine Antwort ging verloren. Ersetzen Sie ihn, um einen lesbaren zu erhalten.',
  },
};

// Texte der Seiten Benutzer und Neuer Benutzer sowie der Rollenauswahl.
import { createPlural } from '../../../common/language.ts';
import type { Messages } from '../en/index.ts';

const plural = createPlural('de');

export const users: Messages['users'] = {
  importCsv: 'CSV importieren',
  importExport: 'Import, Export',
  title: 'Benutzer',
  pane: 'Benutzer',
  count: (count, isFiltered) =>
    isFiltered
      ? plural(count, { one: '# Treffer', other: '# Treffer' })
      : plural(count, { one: '# Konto', other: '# Konten' }),
  create: 'Benutzer anlegen',
  empty: 'Es gibt noch keine Benutzer.',
  firstPage: 'Zur ersten Seite',
  missing: 'Diesen Benutzer gibt es nicht',
  missingText: 'Das Konto wurde gelöscht, oder der Link ist falsch.',
  columns: {
    user: 'Benutzer',
    status: 'Status',
    roles: 'Rollen',
    sessions: 'Sitzungen',
    lastActive: 'Zuletzt aktiv',
    created: 'Angelegt',
  },
  tabs: { profile: 'Profil', access: 'Zugriff', sessions: 'Sitzungen', activity: 'Aktivität' },
  filters: {
    label: 'Benutzer filtern',
    active: 'Aktive Filter',
    search: 'Name, E-Mail oder ID',
    anyStatus: 'Jeder Status',
    role: 'Rolle',
    anyRole: 'Jede Rolle',
    noRoles: 'Ohne Rollen',
    verified: 'E-Mail bestätigt',
    unverified: 'E-Mail nicht bestätigt',
    activeOnly: 'Aktivierte Konten',
    inactiveOnly: 'Deaktivierte Konten',
    removedWithin: (hours) =>
      plural(hours, {
        one: 'Wird innerhalb von # Stunde entfernt',
        other: 'Wird innerhalb von # Stunden entfernt',
      }),
  },
  fields: {
    email: 'E-Mail',
    first_name: 'Vorname',
    last_name: 'Nachname',
    verified: 'E-Mail bestätigt',
    must_change_password: 'Muss das Passwort ändern',
  },
  fieldHelp: {
    verified: 'Ausschalten beendet alle Sitzungen, bis die Adresse erneut bestätigt ist.',
    must_change_password: 'Bis dahin sind nur die Anmeldung und die Wahl eines neuen Passworts möglich.',
  },
  rules: {
    self: 'Mit Ihrem eigenen Konto geht das nicht, damit Sie sich nicht aussperren.',
    superuser: 'Nur ein Superuser kann einen Superuser ändern.',
    onlySuperusers: 'Nur ein Superuser kann das ändern.',
    ownPassword: 'Ändern Sie Ihr eigenes Passwort auf der Seite „Mein Konto“.',
    inactive: 'Aktivieren Sie zuerst das Konto: Inaktive Konten erhalten keine E-Mails.',
  },
  acts: {
    roles: 'Rollen verwalten',
    activate: 'Aktivieren',
    deactivate: 'Deaktivieren',
    promote: 'Zum Superuser machen',
    demote: 'Superuser entziehen',
    unlock: 'Entsperren',
    resend: 'Bestätigung erneut senden',
    endSessions: 'Alle Sitzungen beenden',
    password: 'Passwort setzen',
  },
  ask: {
    activate: (name) => `${name} aktivieren?`,
    deactivate: (name) => `${name} deaktivieren?`,
    promote: (name) => `${name} zum Superuser machen?`,
    demote: (name) => `${name} den Superuser entziehen?`,
    unlock: (name) => `${name} entsperren?`,
    resend: (name) => `Bestätigungsmail erneut an ${name} senden?`,
    endSessions: (name) => `Alle Sitzungen von ${name} beenden?`,
    remove: (name) => `${name} löschen?`,
  },
  explain: {
    activate: 'Die Anmeldung ist wieder möglich, mit den vorhandenen Rollen.',
    deactivate: 'Alle Sitzungen enden sofort. Die Rollen bleiben, die Anmeldung ist nicht möglich.',
    promote: 'Ein Superuser hat jede Berechtigung, auch solche, die später entstehen.',
    demote: 'Es bleibt, was die Rollen erlauben.',
    unlock: 'Die Sperre nach fehlgeschlagenen Anmeldungen endet. Das Passwort bleibt gleich.',
    resend: 'Die neue E-Mail ersetzt den Link der vorigen.',
    endSessions: 'Die Person wird überall sofort abgemeldet. Links in E-Mails verfallen ebenfalls.',
    remove: 'Das Konto wird endgültig gelöscht. Das Protokoll behält, was die Person getan hat.',
  },
  done: {
    activate: (name) => `${name} ist aktiv.`,
    deactivate: (name) => `${name} ist deaktiviert.`,
    promote: (name) => `${name} ist Superuser.`,
    demote: (name) => `${name} ist kein Superuser mehr.`,
    unlock: (name) => `${name} ist entsperrt.`,
    resend: (name) => `Die E-Mail an ${name} ist unterwegs.`,
    endSessions: (name) => `Alle Sitzungen von ${name} sind beendet.`,
    remove: (name) => `${name} ist gelöscht.`,
  },
  remove: {
    blocked: (count) =>
      plural(count, {
        one: '# Rolle steht der Löschung im Weg:',
        other: '# Rollen stehen der Löschung im Weg:',
      }),
    steps: 'Zuerst werden die Rollen entfernt, dann wird das Konto gelöscht.',
    rolesAndUser: 'Entfernen und löschen',
    half: (count) =>
      plural(count, {
        one: 'Das Konto wurde nicht gelöscht, aber die Rolle ist entfernt:',
        other: 'Das Konto wurde nicht gelöscht, aber # Rollen sind entfernt:',
      }),
    giveBack: 'Rollen zurückgeben',
    givenBack: (name) => `${name} hat die Rollen wieder.`,
  },
  profile: {
    account: 'Konto',
    updated: 'Geändert',
    id: 'ID',
    saved: 'Gespeichert.',
  },
  access: {
    roles: (count) => plural(count, { one: '# Rolle', other: '# Rollen' }),
    noRoles: 'Noch keine Rollen.',
    assign: 'Rollen zuweisen',
    assignTo: (name) => `${name} Rollen zuweisen`,
    assigned: (count, name) =>
      `${name}: ${plural(count, { one: '# Rolle zugewiesen.', other: '# Rollen zugewiesen.' })}`,
    removeRole: (role) => `Rolle ${role} entfernen`,
    removeFrom: (role, name) => `${role} von ${name} entfernen?`,
    removed: (role, name) => `${role} wurde von ${name} entfernt.`,
    permissions: 'Wirksame Berechtigungen',
  },
  sessions: {
    title: (count) => plural(count, { one: '# aktive Sitzung', other: '# aktive Sitzungen' }),
    none: 'Nirgends angemeldet.',
  },
  password: {
    kind: 'Wie das Passwort entsteht',
    label: 'Passwort',
    generated: 'Erzeugen',
    typed: 'Eingeben',
    once: 'Es wird nur jetzt angezeigt. Kopieren Sie es, und geben Sie es auf sicherem Weg weiter.',
    refused: 'Der Dienst hat dieses Passwort abgelehnt. Beachten Sie die Regeln unten.',
    title: (name) => `Passwort für ${name} setzen`,
    text: 'Alle Sitzungen des Benutzers enden.',
    done: 'Das Passwort ist gesetzt. Alle Sitzungen sind beendet.',
  },
  new: {
    title: 'Neuer Benutzer',
    rolesHelp: 'Sie können nur Rollen zuweisen, deren Berechtigungen Sie selbst haben.',
    taken: 'Ein Konto mit dieser E-Mail-Adresse gibt es bereits.',
    openExisting: (name) => `${name} öffnen`,
    permissions: (count) =>
      plural(count, { one: '# Berechtigung aus den Rollen', other: '# Berechtigungen aus den Rollen' }),
    permissionsUnknown: 'Berechtigungen aus den Rollen',
    noPermissions: 'Ohne Rollen ist nur das eigene Konto zugänglich.',
    via: (roles) => `durch ${roles}`,
    created: (name) => `${name} wurde angelegt`,
    passOn: 'Es geht keine E-Mail hinaus: Teilen Sie die Zugangsdaten selbst mit.',
    signInAt: 'Adresse',
    mustChange: 'Bei der ersten Anmeldung muss ein eigenes Passwort gewählt werden.',
    mayKeep: 'Dieses Passwort darf behalten werden.',
    open: 'Benutzer öffnen',
    another: 'Weiteren anlegen',
  },
  bulk: {
    label: 'Ausgewählte Benutzer',
    everyMatch: (count) => plural(count, { one: 'Der eine Treffer', other: 'Alle # Treffer' }),
    selectEveryMatch: (count) =>
      plural(count, { one: '# Treffer auswählen', other: 'Alle # Treffer auswählen' }),
    acts: {
      addRoles: 'Rollen hinzufügen',
      removeRoles: 'Rollen entfernen',
      activate: 'Aktivieren',
      deactivate: 'Deaktivieren',
      endSessions: 'Sitzungen beenden',
    },
    ask: {
      addRoles: (count) =>
        plural(count, { one: '# Benutzer Rollen hinzufügen', other: '# Benutzern Rollen hinzufügen' }),
      removeRoles: (count) =>
        plural(count, { one: 'Rollen von # Benutzer entfernen', other: 'Rollen von # Benutzern entfernen' }),
      activate: (count) => plural(count, { one: '# Benutzer aktivieren', other: '# Benutzer aktivieren' }),
      deactivate: (count) =>
        plural(count, { one: '# Benutzer deaktivieren', other: '# Benutzer deaktivieren' }),
      endSessions: (count) =>
        plural(count, {
          one: 'Die Sitzungen von # Benutzer beenden',
          other: 'Die Sitzungen von # Benutzern beenden',
        }),
    },
    done: {
      addRoles: (count) =>
        plural(count, { one: '# Benutzer hat neue Rollen.', other: '# Benutzer haben neue Rollen.' }),
      removeRoles: (count) =>
        plural(count, {
          one: 'Rollen von # Benutzer entfernt.',
          other: 'Rollen von # Benutzern entfernt.',
        }),
      activate: (count) => plural(count, { one: '# Benutzer ist aktiv.', other: '# Benutzer sind aktiv.' }),
      deactivate: (count) =>
        plural(count, { one: '# Benutzer ist deaktiviert.', other: '# Benutzer sind deaktiviert.' }),
      endSessions: (count) =>
        plural(count, {
          one: 'Die Sitzungen von # Benutzer sind beendet.',
          other: 'Die Sitzungen von # Benutzern sind beendet.',
        }),
    },
    endSessions: 'Alle werden überall sofort abgemeldet. Jeder Benutzer ist eine eigene Anfrage.',
    reading: (read, all) => `${read} von ${all}`,
    freezing: 'Alle jetzigen Treffer werden ermittelt. Wer später angelegt wird, ist nicht gemeint.',
    stop: 'Anhalten',
    stopping: 'Hält nach der laufenden Anfrage an…',
    stopped: 'Sie haben angehalten.',
    unknown: (count) =>
      plural(count, {
        one: 'Die letzte Anfrage, für # Benutzer, blieb ohne Antwort: Sie wurde vielleicht ausgeführt. Der Benutzer bleibt ausgewählt; eine Wiederholung schadet nicht.',
        other:
          'Die letzte Anfrage, für # Benutzer, blieb ohne Antwort: Sie wurde vielleicht ausgeführt. Sie bleiben ausgewählt; eine Wiederholung schadet nicht.',
      }),
    undo: (count) =>
      plural(count, {
        one: 'Für # Benutzer rückgängig machen',
        other: 'Für # Benutzer rückgängig machen',
      }),
    undoing: 'Wird rückgängig gemacht',
    takenBack: (done, left) =>
      [
        plural(done, {
          one: 'Für # Benutzer rückgängig gemacht.',
          other: 'Für # Benutzer rückgängig gemacht.',
        }),
        ...(left > 0
          ? [plural(left, { one: '# behält die Änderung.', other: '# behalten die Änderung.' })]
          : []),
      ].join(' '),
    goOn: (count) =>
      plural(count, { one: 'Den übrigen erneut prüfen', other: 'Die übrigen # erneut prüfen' }),
    skipped: 'Ausgelassen:',
    skipReasons: {
      self: () => 'Sie selbst',
      superuser: (count) =>
        plural(count, {
          one: '# Superuser, den nur Superuser ändern:',
          other: '# Superuser, die nur Superuser ändern:',
        }),
      already: (count) =>
        plural(count, {
          one: '#, bei dem sich nichts ändern würde:',
          other: '#, bei denen sich nichts ändern würde:',
        }),
    },
    refused: (done, left) =>
      `${plural(done, { one: '# Benutzer wurde geändert.', other: '# Benutzer wurden geändert.' })} ${plural(left, { one: '# nicht; er bleibt ausgewählt.', other: '# nicht; sie bleiben ausgewählt.' })}`,
    leaveOut: (count) =>
      plural(count, {
        one: '# Benutzer auslassen und erneut prüfen',
        other: '# Benutzer auslassen und erneut prüfen',
      }),
  },
  export: {
    title: (count) => plural(count, { one: '# Benutzer exportieren', other: '# Benutzer exportieren' }),
    selected: 'Die Datei enthält die ausgewählten Benutzer.',
    matching: 'Die Datei enthält alle Benutzer, die zu den Filtern passen, von allen Seiten.',
    columns: (names) => `Spalten: ${names}. Ändern Sie sie im Menü „Spalten“.`,
    start: (count) => `${count} exportieren`,
    done: (count) => plural(count, { one: '# Benutzer exportiert.', other: '# Benutzer exportiert.' }),
  },
  rolePicker: {
    placeholder: 'Teil des Namens eingeben',
    none: 'Keine Rolle hat das im Namen.',
    permissions: (count) => plural(count, { one: '# Berechtigung', other: '# Berechtigungen' }),
  },
};

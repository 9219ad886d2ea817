// German texts of the pages about sign-in providers.
import { createPlural } from '../../../../common/language.ts';
import type { LaterMessages } from '../../en/later.ts';

const plural = createPlural('de');

export const identityProviders: LaterMessages['identityProviders'] = {
  count: (count) => plural(count, { one: '# Anmeldedienst', other: '# Anmeldedienste' }),
  text: 'In dieser Reihenfolge zeigt die Anmeldeseite ihre Schaltflächen.',
  empty: 'Lassen Sie Menschen sich mit einem Konto anmelden, das sie anderswo haben',
  emptyText: 'Google, Microsoft, GitHub, Apple oder jeder Dienst, der OpenID Connect spricht.',
  create: 'Neuer Anmeldedienst',
  onlySuperusers:
    'Das können nur Superuser: Wer einen Anmeldedienst ändert, kann sich als alle anmelden, die ihn verwenden.',
  readOnly: 'Sie können hier alles sehen. Nur Superuser können es ändern.',
  kinds: {
    oidc: 'OpenID Connect',
    google: 'Google',
    microsoft: 'Microsoft',
    github: 'GitHub',
    apple: 'Apple',
  },
  kindTexts: {
    oidc: 'Jeder Aussteller: Keycloak, Okta, Authentik, ein anderes Castellan.',
    google: 'Google-Konten und Google Workspace.',
    microsoft: 'Microsoft Entra ID. Sie nennen die Mandanten.',
    github: 'GitHub-Konten mit ihrer bestätigten Hauptadresse.',
    apple: 'Mit Apple anmelden.',
  },
  list: {
    handle: (name) => `${name} verschieben`,
    up: (name) => `${name} nach oben`,
    down: (name) => `${name} nach unten`,
    moved: (name, place, of) => `${name} ist jetzt Nummer ${place} von ${of}.`,
    hidden: 'ohne Schaltfläche',
    required: 'Pflicht',
    noSecret: 'ohne Geheimnis',
  },
  pick: 'Welcher Anmeldedienst?',
  other: 'Anderen wählen',
  missing: 'Diesen Anmeldedienst gibt es nicht',
  missingText: 'Er wurde gelöscht, oder die Adresse ist falsch.',
  saved: (name) => `${name} ist gespeichert.`,
  created: (name) => `${name} ist angelegt. Tragen Sie dort die Adressen ein, dann prüfen Sie ihn.`,
  tabs: {
    label: 'Teile des Anmeldedienstes',
    settings: 'Einstellungen',
    activity: 'Verlauf',
  },
  addresses: {
    title: 'Beim Anmeldedienst einzutragen',
    redirect: 'Weiterleitungsadresse',
    redirectHelp:
      'Andere nennen sie Redirect URI, Callback URL oder Reply URL. Kopieren Sie sie Zeichen für Zeichen.',
    backchannel: 'Adresse für Back-Channel-Abmeldungen',
    backchannelHelp:
      'Freiwillig. Der Anmeldedienst beendet dann Sitzungen hier, wenn sich jemand dort abmeldet.',
    afterSignOut: 'Adresse nach dem Abmelden',
    afterSignOutHelp: 'Andere nennen sie Post Logout Redirect URI.',
    slugFirst: 'Geben Sie einen Kurznamen ein, dann stehen hier die Adressen.',
  },
  test: {
    run: 'Prüfen',
    title: (name) => `Prüfung von ${name}`,
    good: 'Der Anmeldedienst antwortet, wie er soll. Melden Sie sich einmal in einem anderen Browser an, um den Rest zu prüfen.',
    bad: 'So kann sich niemand damit anmelden.',
    issuer: 'Aussteller in seinen Metadaten',
    passed: 'bestanden',
    failed: 'nicht bestanden',
  },
  groups: {
    about: 'Über den Anmeldedienst',
    connection: 'Wie wir mit ihm sprechen',
    people: 'Wen er bringt',
    roles: 'Rollen',
    sessions: 'Zweite Faktoren und Abmelden',
  },
  fields: {
    slug: {
      label: 'Kurzname',
      help: 'Teil der Weiterleitungsadresse: Kleinbuchstaben, Ziffern, Bindestriche. Er ändert sich nie.',
    },
    name: { label: 'Name', help: 'Auf der Schaltfläche steht „Weiter mit …“.' },
    is_shown: {
      label: 'Auf der Anmeldeseite zeigen',
      help: 'Ohne Schaltfläche wirkt er noch für Domains, die ihn verlangen, und in Konten.',
    },
    issuer: {
      label: 'Aussteller',
      help: 'Genau wie der Anmeldedienst ihn schreibt, mit oder ohne Schrägstrich am Ende.',
    },
    tenants: {
      label: 'Mandanten',
      help: 'Die ID jedes Mandanten, dessen Leute sich anmelden dürfen, eine je Zeile.',
    },
    client_id: {
      label: 'Client-ID',
      help: 'Wie der Anmeldedienst Castellan nennt. Bei Apple heißt sie Services ID.',
    },
    client_auth: { label: 'Ausweis', help: 'Andere nennen es Token Endpoint Auth Method.' },
    client_secret: {
      label: 'Client-Geheimnis',
      help: 'Es wird verschlüsselt gespeichert und nie wieder gezeigt.',
    },
    team_id: { label: 'Team-ID', help: 'Zehn Buchstaben und Ziffern, oben in Ihrem Entwicklerkonto.' },
    key_id: { label: 'Schlüssel-ID', help: 'Des Schlüssels für „Mit Apple anmelden“.' },
    private_key: {
      label: 'Privater Schlüssel',
      help: 'Die ganze .p8-Datei. Sie wird verschlüsselt gespeichert und nie wieder gezeigt.',
    },
    scopes: { label: 'Scopes', help: 'Mit Leerzeichen dazwischen.' },
    extra_parameters: {
      label: 'Weitere Parameter',
      help: 'Der Anfrage an den Anmeldedienst: Name=Wert, einer je Zeile. Etwa hd, domain_hint oder prompt.',
    },
    domains: {
      label: 'Domains',
      help: 'Von E-Mail-Adressen, eine je Zeile. Eine Subdomain ist eine andere Domain.',
    },
    email_trust: {
      label: 'Ob gilt, was er über Adressen sagt',
      help: 'Es gilt nur für die Domains oben, und nur wenn er sagt, dass er die Adresse bestätigt hat.',
    },
    sign_up: { label: 'Wer ein Konto bekommt', help: 'Wenn jemand kommt, der noch keines hat.' },
    connect: {
      label: 'Jemand, dessen Adresse ein Konto hat',
      help: 'Mit einer Adresse, die als bestätigt gilt.',
    },
    required_for_domains: {
      label: 'Der einzige Weg für seine Domains',
      help: 'Passwörter, Registrierung und Zurücksetzen werden für diese Adressen abgelehnt.',
    },
    allow_superusers: {
      label: 'Auch Superuser dürfen sich damit anmelden',
      help: 'Wenn sie ihn verknüpft haben.',
    },
    role_ids: { label: 'Rollen neuer Konten', help: 'Neben der Standardrolle.' },
    role_mapping: {
      label: 'Rollen nach Claims',
      help: 'Wer den Wert im Claim hat, hat die Rolle. Punkte führen in Objekte: realm_access.roles.',
    },
    mapping: {
      label: 'Wann Claims Rollen geben',
      help: 'Rollen, die keine Regel nennt, bleiben, wie sie sind.',
    },
    sync_names: {
      label: 'Namen folgen dem Anmeldedienst',
      help: 'Vor- und Nachname werden bei jeder Anmeldung gesetzt.',
    },
    acr_mapping: {
      label: 'Was als zweiter Faktor zählt',
      help: 'Werte von acr oder amr, einer je Zeile, etwa mfa. Wer mit einem kommt, wird hier nicht noch einmal gefragt.',
    },
    logout: { label: 'Abmelden', help: 'Wo sich Menschen abmelden, die von ihm kamen.' },
  },
  secretKept: 'Gespeichert. Tippen Sie hier, um es zu ersetzen.',
  secretNone: 'Noch keines.',
  inLine: (line, message) => `Zeile ${line}: ${message}`,
  inRule: (rule, message) => `Regel ${rule}: ${message}`,
  faults: {
    pair: 'Schreiben Sie in jede Zeile Name=Wert.',
    rule: 'Jede Regel braucht einen Claim, einen Wert und eine Rolle.',
  },
  options: {
    client_auth: {
      client_secret_basic: 'Geheimnis im Header (client_secret_basic)',
      client_secret_post: 'Geheimnis im Body (client_secret_post)',
      none: 'Nichts: ein öffentlicher Client',
    },
    email_trust: {
      none: 'Nein: Menschen bestätigen ihre Adresse mit einem Code',
      domains: 'Ja, für die Domains oben',
    },
    sign_up: {
      none: 'Niemand: Eine Administratorin oder ein Administrator legt Konten an',
      domains: 'Menschen mit einer Adresse in den Domains oben',
      everyone: 'Alle, die dort ein Konto haben',
    },
    connect: {
      confirm: 'Meldet sich noch einmal daran an und bestätigt dann',
      trusted: 'Wird sofort verknüpft, außer das Konto hat administrative Berechtigungen',
    },
    mapping: { creation: 'Einmal, wenn das Konto angelegt wird', every_sign_in: 'Bei jeder Anmeldung' },
    logout: { here: 'Nur hier', upstream: 'Auch beim Anmeldedienst' },
  },
  rules: {
    claim: 'Claim',
    equals: 'Wert',
    role: 'Rolle',
    add: 'Regel hinzufügen',
    remove: (rule) => `Regel ${rule} entfernen`,
    label: (rule) => `Regel ${rule}`,
  },
  happens: {
    title: 'Was mit wem geschieht',
    text: 'Mit diesen Einstellungen, gespeichert oder nicht.',
    unnamed: 'der Anmeldedienst',
    noDomains: '(noch keine Domain)',
    connected: 'Jemand, dessen Konto verknüpft ist',
    isSignedIn: 'Wird angemeldet, welche Adresse der Anmeldedienst auch nennt.',
    noSuperusers: 'Superuser werden abgelehnt.',
    superusersToo: 'Auch Superuser.',
    factor: 'Ein Konto mit zweitem Faktor wird danach gefragt.',
    factorUnless: (name, levels) =>
      `Ein Konto mit zweitem Faktor wird danach gefragt, außer ${name} sagt: ${levels}.`,
    otherTenant: 'Jemand aus einem anderen Mandanten',
    refused: 'Wird abgelehnt.',
    trusted: (domains, name) => `Jemand Neues, dessen Adresse in ${domains} von ${name} bestätigt ist`,
    others: 'Jemand Neues mit anderer Adresse oder ohne',
    everyone: 'Jemand Neues',
    noAccount: 'Kein Konto hat die Adresse:',
    unverified: 'Ein Konto hat sie, das nicht bestätigt ist:',
    verified: 'Ein bestätigtes Konto hat sie:',
    ask: 'Sie sollen bei Ihnen um eines bitten.',
    made: 'Sie bekommen eines, ohne Passwort.',
    madeWithRoles: 'Sie bekommen eines mit den Rollen unten, ohne Passwort.',
    madeFor: (domains, made) => `In ${domains}: ${made} Andere sollen bei Ihnen um eines bitten.`,
    takesOver:
      'Sie bekommen dieses Konto, wenn es keinen zweiten Faktor hat. Passwort und Sitzungen enden, die Rollen bleiben.',
    confirms: 'Sie melden sich wie gewohnt daran an und bestätigen dann.',
    connectsAtOnce:
      'Es wird sofort verknüpft und erfährt es per E-Mail. Konten mit administrativen Berechtigungen melden sich erst an und bestätigen dann.',
    code: 'Tippt einen Code ein, der an die Adresse geht.',
    mail: 'Es bekommt statt eines Codes eine E-Mail: anmelden, dann im Konto verknüpfen.',
    inDomains: (domains) => `Alle mit einer Adresse in ${domains}`,
    onlyWay: (name) =>
      `Können sich nur mit ${name} anmelden. Passwörter, Registrierung und Zurücksetzen werden abgelehnt.`,
    mapped: 'Jemand, dessen Claims zu einer Regel passen',
    once: 'Bekommt die Rollen, wenn das Konto angelegt wird. Spätere Änderungen dort ändern hier nichts.',
    everySignIn: 'Bekommt und verliert die Rollen der Regeln bei jeder Anmeldung. Andere Rollen bleiben.',
    missingClaim: 'Fehlt der Claim, ändert sich nichts. Eine leere Liste nimmt die Rollen weg.',
    names: (name) => `Hat den Vor- und Nachnamen, den ${name} nennt.`,
    leaving: 'Jemand, der sich abmeldet',
    here: (name) => `Ist bei ${name} noch angemeldet.`,
    upstream: (name) => `Wird zu ${name} geführt, um sich auch dort abzumelden.`,
    visitors: 'Besucher der Anmeldeseite',
    hidden: 'Sehen keine Schaltfläche dafür.',
  },
  trusts: {
    email_trust:
      'Wer den Anmeldedienst beherrscht, oder ein Konto dort mit so einer Adresse, bekommt, was die Adresse hier gibt.',
    connect: 'Wer den Anmeldedienst beherrscht, kommt in bestehende Konten, ohne dass jemand gefragt wird.',
    sign_up: 'Alle auf der Welt, die dort ein Konto eröffnen können, bekommen hier eines.',
    required:
      'Solange der Anmeldedienst nicht erreichbar ist, kann sich niemand mit so einer Adresse anmelden. PROVIDER_REQUIRED=off ist der Weg zurück.',
    allow_superusers: 'Wer den Anmeldedienst beherrscht, kann hier alles, im Namen eines Superusers.',
    role_mapping: 'Wer diese Claims beim Anmeldedienst ändern kann, kann Menschen diese Rollen geben.',
    acr_mapping: 'Der Anmeldedienst entscheidet, wer hier nicht nach einem zweiten Faktor gefragt wird.',
    extra_parameters:
      'Sie ändern, wie sich Menschen dort anmelden. Melden Sie sich einmal an, um sie zu prüfen.',
  },
  activate: 'Aktivieren',
  activated: (name) => `${name} ist aktiv.`,
  deactivate: 'Deaktivieren',
  deactivated: (name) => `${name} ist inaktiv.`,
  deactivateTitle: (name) => `${name} deaktivieren?`,
  deactivateText: 'Niemand kann sich damit anmelden, bis er wieder aktiviert wird. Konten bleiben verknüpft.',
  deleted: (name) => `${name} ist gelöscht.`,
  deleteTitle: (name) => `${name} löschen?`,
  deleteText: 'Danach kann sich niemand mehr damit anmelden. Das kann nicht rückgängig gemacht werden.',
  issuerTitle: (name) => `Aussteller von ${name} ändern?`,
  issuerText: 'Konten sind mit Menschen beim bisherigen Aussteller verknüpft. Für den neuen gilt das nicht.',
  impact: {
    nobody: 'Kein Konto ist verknüpft.',
    identities: (count) =>
      plural(count, { one: '# Konto ist verknüpft.', other: '# Konten sind verknüpft.' }),
    sessions: (count) =>
      plural(count, { one: '# Sitzung hat damit begonnen.', other: '# Sitzungen haben damit begonnen.' }),
    leftWithout: (count) =>
      plural(count, {
        one: '# Konto hat keinen anderen Weg, sich anzumelden.',
        other: '# Konten haben keinen anderen Weg, sich anzumelden.',
      }),
  },
  endSessions: 'Sitzungen beenden, die damit begonnen haben',
  force: (count) =>
    plural(count, {
      one: '# Konto trennen und seine Sitzungen beenden',
      other: '# Konten trennen und ihre Sitzungen beenden',
    }),
};

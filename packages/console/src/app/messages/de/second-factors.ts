// Texte der zweiten Faktoren: „Mein Konto“, der Dialog, der nach einem Nachweis fragt, und eine verlangte Einrichtung.
import { createPlural } from '../../../common/language.ts';
import { recoveryCodeTexts } from '../../../common/messages/de/recovery-codes.ts';
import type { LaterMessages } from '../en/later.ts';

const plural = createPlural('de');

export const secondFactors: LaterMessages['secondFactors'] = {
  title: 'Anmeldung und Sicherheit',
  text: 'Mit einem zweiten Faktor kann sich niemand als Sie anmelden, der nur Ihr Passwort kennt.',
  added: (moment) => `Hinzugefügt ${moment}`,
  lastUsed: (moment) => `Zuletzt verwendet ${moment}`,
  neverUsed: 'Noch nicht verwendet',
  first: 'Von nun an reicht Ihr Passwort allein nicht mehr zur Anmeldung.',
  endsOthers: 'Alle Ihre anderen Sitzungen werden beendet, und keinem Gerät wird mehr vertraut.',
  app: {
    title: 'Authenticator-App',
    off: 'Eine App auf Ihrem Telefon zeigt alle 30 Sekunden einen neuen Code.',
    suspended: 'Ausgesetzt',
    suspendedText: 'Nach zu vielen falschen Codes zählt diese App nicht mehr. Richten Sie sie neu ein.',
    setUp: 'Einrichten',
    replace: 'Ersetzen',
    setUpTitle: 'Authenticator-App einrichten',
    replaceTitle: 'Authenticator-App ersetzen',
    replaceText: 'Ihre jetzige App gilt weiter, bis die neue bestätigt ist.',
    scan: 'Scannen Sie diesen Code mit der App',
    qr: 'QR-Code zum Einrichten der Authenticator-App',
    type: 'Oder geben Sie diesen Schlüssel in die App ein',
    open: 'In der App öffnen',
    enter: 'Geben Sie den Code ein, den die App zeigt',
    confirm: 'Bestätigen',
    done: 'Ihre Authenticator-App ist eingerichtet.',
    startAgain: 'Neu beginnen',
    removeTitle: 'Authenticator-App entfernen?',
    remove: 'App entfernen',
    removed: 'Die Authenticator-App ist entfernt.',
  },
  removal: {
    last: 'Danach reicht Ihr Passwort allein zur Anmeldung, und Ihre Wiederherstellungscodes gelten nicht mehr.',
    other: 'Danach lässt sich damit nicht mehr bestätigen, dass Sie es sind. Ihre anderen Faktoren bleiben.',
  },
  codes: {
    ...recoveryCodeTexts,
    title: 'Wiederherstellungscodes',
    left: (left) => `${left} von 10 übrig`,
    few: 'Erstellen Sie neue, bevor sie ausgehen.',
    help: 'Jeder gilt für eine Anmeldung, wenn Sie Ihren zweiten Faktor nicht zur Hand haben.',
    make: 'Neue erstellen',
    makeTitle: 'Neue Wiederherstellungscodes erstellen?',
    makeText: 'Die bisherigen Codes gelten sofort nicht mehr.',
    shownText:
      'Jeder gilt für eine Anmeldung, falls Sie Ihren zweiten Faktor verlieren. Bewahren Sie die Codes so auf, dass andere sie nicht finden. Sie werden nur jetzt gezeigt.',
    done: 'Fertig',
    leave: 'Verlassen, ohne die Codes aufzubewahren?',
    leaveText: 'Sie werden nicht noch einmal gezeigt. Sie müssten neue erstellen.',
  },
  passkeys: {
    title: 'Passkeys',
    none: 'Mit einem Passkey melden Sie sich per Fingerabdruck, Gesicht oder Displaysperre an, ohne Passwort.',
    add: 'Passkey hinzufügen',
    synced: 'Synchronisiert',
    thisDevice: 'Nur auf diesem Gerät',
    onlyFor: (domain) => `Nur für ${domain}`,
    name: 'Name',
    nameHelp: 'Damit Sie ihn wiedererkennen. Leer: der Name Ihres Browsers und Systems.',
    continue: 'Weiter',
    follow: 'Folgen Sie Ihrem Browser…',
    nothing: 'Es ist nichts passiert. Versuchen Sie es erneut.',
    registered: 'Dieses Gerät oder dieser Schlüssel ist schon hinterlegt.',
    failed: 'Ihr Browser konnte das nicht. Versuchen Sie es erneut, oder nehmen Sie ein anderes Gerät.',
    rename: 'Umbenennen',
    renameOf: (name) => `${name} umbenennen`,
    removeOf: (name) => `${name} entfernen`,
    removeAsk: (name) => `${name} entfernen?`,
    addedDone: (name) => `${name} ist hinzugefügt.`,
    renamed: 'Der Name ist gespeichert.',
    removed: 'Entfernt.',
  },
  keys: {
    title: 'Sicherheitsschlüssel',
    none: 'Ein Schlüssel, den Sie nach dem Passwort einstecken oder an Ihr Gerät halten.',
    add: 'Sicherheitsschlüssel hinzufügen',
  },
  devices: {
    title: 'Bekannte Geräte',
    text: 'Geräte, auf denen Sie sich angemeldet haben. Auf einem vertrauten reicht Ihr Passwort.',
    current: 'Dieses Gerät',
    trusted: (day) => `Vertraut bis ${day}`,
    forget: 'Vergessen',
    forgetOf: (name) => `${name} vergessen`,
    forgetAll: 'Alle vergessen',
    forgetTitle: 'Alle Geräte vergessen?',
    forgetText:
      'Auf jedem werden Sie beim nächsten Mal nach Ihrem zweiten Faktor gefragt. Sitzungen laufen weiter.',
    forgotten: 'Das Gerät ist vergessen.',
    allForgotten: 'Alle Geräte sind vergessen.',
    count: (count) => plural(count, { one: '# Gerät', other: '# Geräte' }),
  },
  stepUp: {
    title: 'Bestätigen Sie, dass Sie es sind',
    text: 'Dafür ist ein frischer Nachweis nötig, dass Sie es wirklich sind.',
    purposes: {
      'POST /api/v1/auth/factors/totp': 'Sie sind dabei, eine Authenticator-App einzurichten.',
      'POST /api/v1/auth/factors/totp/confirm': 'Sie sind dabei, eine Authenticator-App einzurichten.',
      'DELETE /api/v1/auth/factors/totp': 'Sie sind dabei, Ihre Authenticator-App zu entfernen.',
      'POST /api/v1/auth/factors/recovery-codes':
        'Sie sind dabei, neue Wiederherstellungscodes zu erstellen.',
      'POST /api/v1/auth/factors/passkeys/options':
        'Sie sind dabei, einen Passkey oder Sicherheitsschlüssel hinzuzufügen.',
      'POST /api/v1/auth/factors/passkeys':
        'Sie sind dabei, einen Passkey oder Sicherheitsschlüssel hinzuzufügen.',
      'DELETE /api/v1/auth/factors/passkeys/{passkey_id}':
        'Sie sind dabei, einen Passkey oder Sicherheitsschlüssel zu entfernen.',
      'POST /api/v1/users/me/tokens': 'Sie erstellen gleich ein persönliches Zugriffstoken.',
      'POST /api/v1/users/me/email': 'Sie sind dabei, Ihre E-Mail-Adresse zu ändern.',
      'POST /api/v1/users/me/identities': 'Sie verknüpfen gleich ein Konto anderswo.',
      'DELETE /api/v1/users/me/identities/{identity_id}': 'Sie trennen gleich ein Konto anderswo.',
      'PUT /api/v1/roles/{role_id}/authentication':
        'Sie sind dabei zu ändern, wie sich die Inhaber einer Rolle anmelden müssen.',
      'PUT /api/v1/permissions/{permission_id}/authentication':
        'Sie sind dabei zu ändern, was eine Berechtigung von einer Anmeldung verlangt.',
      'POST /api/v1/users/{user_id}/factors/reset':
        'Sie sind dabei, den zweiten Faktor eines Benutzers zurückzusetzen.',
    },
    other: 'Ein anderer Weg:',
    noWay:
      'Das Passwort stimmt, aber keiner Ihrer zweiten Faktoren funktioniert hier. Melden Sie sich mit dem Wiederherstellungslink an, den Sie erhalten haben, oder bitten Sie Ihren Administrator um einen.',
    ways: {
      passkey: 'Passkey oder Sicherheitsschlüssel',
      totp: 'Authenticator-App',
      recovery_code: 'Wiederherstellungscode',
      password: 'Passwort',
    },
    code: 'Code der Authenticator-App',
    codeHelp: 'Sechs Ziffern',
    sixDigits: 'Geben Sie die sechs Ziffern ein, die die App zeigt.',
    recoveryCode: 'Wiederherstellungscode',
    recoveryHelp: 'Groß- und Kleinschreibung, Leerzeichen und Bindestriche spielen keine Rolle.',
    password: 'Passwort',
    usePasskey: 'Passkey oder Sicherheitsschlüssel verwenden',
    confirm: 'Bestätigen',
    nothing: 'Es ist nichts passiert. Versuchen Sie es erneut, oder wählen Sie einen anderen Weg.',
    setUp: 'Zweiten Faktor einrichten',
  },
  required: {
    title: 'Richten Sie zuerst einen zweiten Faktor ein',
    text: (service) =>
      `Die Administration von ${service} verlangt einen zweiten Faktor: Ihr Konto darf mehr, als ein Passwort allein schützen sollte. Bis er eingerichtet ist, steht Ihnen nichts anderes offen.`,
    textPasskey: (service) =>
      `Die Administration von ${service} verlangt einen Passkey oder einen Sicherheitsschlüssel: Ihr Konto darf mehr, als andere Faktoren schützen sollten. Bis er eingerichtet ist, steht Ihnen nichts anderes offen.`,
    unavailable: 'Hier lässt sich nichts einrichten, das ausreicht. Wenden Sie sich an Ihre Administration.',
  },
};

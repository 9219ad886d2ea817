// Texte der zweiten Faktoren eines anderen Benutzers, für die Administration.
import { createPlural } from '../../../../common/language.ts';
import type { LaterMessages } from '../../en/later.ts';

const plural = createPlural('de');

export const userSecurity: LaterMessages['userSecurity'] = {
  factors: 'Zweite Faktoren',
  none: 'Keine. Das Passwort allein meldet an.',
  kinds: { passkey: 'Passkey', security_key: 'Sicherheitsschlüssel' },
  suspended:
    'Nach zu vielen falschen Codes gilt die App nicht mehr. Sie muss neu eingerichtet oder der zweite Faktor zurückgesetzt werden.',
  pending:
    'Der zweite Faktor wurde zurückgesetzt. Die nächste Anmeldung braucht das Passwort und den Wiederherstellungslink.',
  levels: {
    aal1: 'ein Passwort',
    aal2: 'ein zweiter Faktor',
    phr: 'ein Passkey oder Sicherheitsschlüssel',
  },
  required: (level) => `Verlangt: ${level}.`,
  requiredSince: (level, day) => `Verlangt seit ${day}: ${level}.`,
  requiredFrom: (level, day) => `Verlangt ab ${day}: ${level}.`,
  met: 'Er ist eingerichtet.',
  missing: 'Er fehlt: Bis er eingerichtet ist, ist nichts anderes möglich.',
  missingYet: 'Er fehlt.',
  closed: (moment) =>
    `Falsche Codes haben die Authenticator-App bis ${moment} gesperrt. Wiederherstellungscodes und Passkeys gelten weiter.`,
  devices: {
    title: 'Geräte',
    trusted: (count) =>
      plural(count, {
        one: 'Auf # vertrauten Gerät reicht das Passwort.',
        other: 'Auf # vertrauten Geräten reicht das Passwort.',
      }),
    none: 'Keinem Gerät wird vertraut.',
    forget: 'Alle Geräte vergessen',
    ask: (name) => `Alle Geräte von ${name} vergessen?`,
    text: 'Keinem Gerät wird mehr vertraut, und keines umgeht eine Sperre. Auch Links in E-Mails enden. Sitzungen laufen weiter.',
    done: (name) => `Alle Geräte von ${name} sind vergessen.`,
  },
  reset: {
    act: 'Zweiten Faktor zurücksetzen',
    again: 'Neuer Wiederherstellungslink',
    ask: (name) => `Zweiten Faktor von ${name} zurücksetzen?`,
    askAgain: (name) => `Neuen Wiederherstellungslink für ${name} erstellen?`,
    ends: 'Das endet:',
    codes: (count) => plural(count, { one: '# Wiederherstellungscode', other: '# Wiederherstellungscodes' }),
    others: 'alle Sitzungen, vertraute Geräte und Links in E-Mails',
    formerLink: 'der bisherige Wiederherstellungslink',
    after:
      'Das Passwort bleibt. Die nächste Anmeldung braucht es zusammen mit einem Wiederherstellungslink, der einmal gilt, 24 Stunden lang.',
    deliver: 'Wiederherstellungslink',
    mail: 'Per E-Mail senden',
    mailHelp: (email) => `Er geht an ${email}.`,
    show: 'Mir einmal zeigen',
    showHelp: 'Falls andere die E-Mails lesen könnten. Übergeben Sie ihn persönlich.',
    reason: 'Grund',
    reasonHelp: 'Für das Protokoll. Schreiben Sie nichts Geheimes hinein.',
    mailed: (name) =>
      `Der zweite Faktor von ${name} ist zurückgesetzt. Der Wiederherstellungslink ist unterwegs.`,
    shownTitle: 'Wiederherstellungslink übergeben',
    link: 'Wiederherstellungslink',
    once: 'Er wird nur jetzt gezeigt. Ohne das Passwort ist er nichts wert.',
    expires: (moment) => `Er gilt einmal, bis ${moment}.`,
    done: 'Fertig',
  },
};

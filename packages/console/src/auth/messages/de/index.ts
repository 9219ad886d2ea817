// German texts of the pages of people who are not signed in.

import { fieldTexts } from '../../../common/messages/de/field-texts.ts';
import { passwordTexts } from '../../../common/messages/de/password.ts';
import { visitorErrorTexts } from '../../../common/messages/de/visitor-errors.ts';
import type { AuthTexts } from '../en/index.ts';

export const de: AuthTexts = {
  email: 'E-Mail-Adresse',
  password: 'Passwort',
  newPassword: 'Neues Passwort',
  firstName: 'Vorname',
  lastName: 'Nachname (optional)',
  checklist: passwordTexts,
  continue: 'Weiter',
  toSignIn: 'Zur Anmeldung',
  languages: 'Sprache',
  working: 'Einen Moment…',
  offline: 'Der Dienst ist nicht erreichbar. Prüfen Sie Ihre Verbindung und versuchen Sie es erneut.',
  timeout: 'Der Dienst antwortet nicht. Versuchen Sie es erneut.',
  cookies:
    'Ihr Browser hat unser Cookie nicht behalten. Erlauben Sie Cookies für diese Website und versuchen Sie es erneut.',
  limited: (wait) => `Zu viele Anfragen. Versuchen Sie es ${wait} erneut.`,
  waiting: (wait) => `Erneut versuchen ${wait}`,
  unexpected: 'Es ist etwas Unerwartetes passiert. Versuchen Sie es erneut.',
  byCode: visitorErrorTexts,
  byField: fieldTexts,
  login: {
    title: 'Anmelden',
    submit: 'Anmelden',
    forgot: 'Passwort vergessen?',
    register: 'Konto erstellen',
    noAccount: 'Noch kein Konto?',
    locked: (wait) =>
      `Dieses Konto ist nach zu vielen Fehlversuchen gesperrt. Versuchen Sie es ${wait} erneut.`,
    unverified:
      'Diese E-Mail-Adresse ist noch nicht bestätigt. Folgen Sie dem Link in unserer E-Mail, oder fordern Sie einen neuen an.',
    resend: 'Neuen Link senden',
    recovery: 'Melden Sie sich mit Ihrem Passwort an. Dann verwenden wir den Link, den Sie geöffnet haben.',
  },
  secondStep: 'Bestätigen Sie, dass Sie es sind',
  register: {
    title: 'Konto erstellen',
    submit: 'Konto erstellen',
    known: 'Haben Sie schon ein Konto?',
    taken:
      'Zu dieser E-Mail-Adresse gibt es bereits ein Konto. Melden Sie sich an, oder setzen Sie ein neues Passwort.',
    reset: 'Neues Passwort setzen',
  },
  checkEmail: {
    title: 'Sehen Sie in Ihr Postfach',
    text: (email) =>
      `Wir haben eine E-Mail an ${email} gesendet. Folgen Sie dem Link darin, um die Adresse zu bestätigen.`,
    textWithout: 'Folgen Sie dem Link in unserer E-Mail, um Ihre E-Mail-Adresse zu bestätigen.',
    help: 'Nichts angekommen? Sehen Sie im Spam-Ordner nach, oder fordern Sie eine neue E-Mail an.',
    resend: 'Erneut senden',
    resendIn: (wait) => `Erneut senden ${wait}`,
    sent: 'Falls diese E-Mail-Adresse zu einem noch nicht bestätigten Konto gehört, ist eine E-Mail mit einem Link unterwegs.',
  },
  verify: {
    title: 'E-Mail-Adresse bestätigen',
    checking: 'Der Link wird geprüft…',
    text: 'Damit wird das Konto mit dem bei der Registrierung gewählten Passwort aktiviert.',
    submit: 'Meine E-Mail-Adresse bestätigen',
    other: 'Hat sich jemand anderes mit Ihrer E-Mail-Adresse registriert?',
    declineText:
      'Wenn Sie kein Konto möchten, entfernen Sie es. Die E-Mail-Adresse kann danach neu registriert werden.',
    decline: 'Das war ich nicht: Konto entfernen',
    ownText:
      'Um das Konto zu behalten, wählen Sie ein Passwort, das nur Sie kennen. Es ersetzt das bei der Registrierung gewählte.',
    own: 'Mit diesem Passwort bestätigen',
    done: 'Ihre E-Mail-Adresse ist bestätigt',
    doneText: 'Vielen Dank. Sie können sich jetzt anmelden und diese Seite schließen.',
    ownDone: 'Vielen Dank. Melden Sie sich mit dem eben gewählten Passwort an.',
    before: 'Sie wurde schon früher bestätigt. Sie können sich jetzt anmelden und diese Seite schließen.',
    declined: 'Das Konto ist entfernt',
    declinedText: 'Niemand kann sich damit anmelden. Sie können diese Seite schließen.',
    expired:
      'Er ist abgelaufen, wurde schon verwendet oder durch einen neueren ersetzt. Fordern Sie einen neuen an:',
    missing:
      'Öffnen Sie diese Seite mit dem Link aus unserer E-Mail. Wenn Sie keinen haben, fordern Sie einen neuen an:',
    resend: 'Neuen Link senden',
    sent: 'Falls diese E-Mail-Adresse zu einem noch nicht bestätigten Konto gehört, ist eine E-Mail mit einem Link unterwegs.',
  },
  broken: 'Dieser Link funktioniert nicht',
  forgot: {
    title: 'Passwort vergessen?',
    text: (lifetime) =>
      `Wir senden Ihnen einen Link, mit dem Sie ein neues setzen. Er funktioniert nur einmal und ist ${lifetime} gültig.`,
    submit: 'Link senden',
    done: 'Sehen Sie in Ihr Postfach',
    sent: 'Falls es zu dieser E-Mail-Adresse ein aktives Konto gibt, ist eine E-Mail mit einem Link unterwegs.',
  },
  reset: {
    title: 'Neues Passwort setzen',
    submit: 'Passwort setzen',
    done: 'Ihr Passwort ist gesetzt',
    doneText: 'Alle Sitzungen wurden beendet. Melden Sie sich mit dem neuen Passwort an.',
    expired: 'Er ist abgelaufen, wurde schon verwendet oder durch einen neueren ersetzt.',
    missing: 'Öffnen Sie diese Seite mit dem Link aus unserer E-Mail.',
    again: 'Neuen Link anfordern',
  },
  missing: {
    title: 'Unter dieser Adresse gibt es keine Seite',
    text: 'Prüfen Sie die Adresse. Falls Sie einem Link gefolgt sind, wurde er vielleicht abgeschnitten.',
    start: 'Zur Startseite',
  },
};

// German texts of the pages that change an email address by a link.
import type { EmailLinkTexts } from '../en/email-link.ts';

export const emailLink: EmailLinkTexts = {
  change: {
    title: 'Neue E-Mail-Adresse bestätigen',
    text: (email) => `Sie melden sich dann mit ${email} an.`,
    ends: 'Jede andere Sitzung Ihres Kontos endet.',
    submit: 'Adresse bestätigen',
    done: 'Ihre E-Mail-Adresse ist geändert',
    doneText: 'Sie melden sich ab jetzt mit der neuen Adresse an.',
    before: 'Sie ist schon bestätigt. Sie melden sich mit der neuen Adresse an.',
    taken: 'Diese Adresse gehört inzwischen zu einem anderen Konto. Sie wurde nicht geändert.',
    expired:
      'Er ist abgelaufen, schon verwendet oder durch einen neueren ersetzt. Ändern Sie die Adresse in Ihrem Konto erneut.',
  },
  undo: {
    title: 'Konto zurückholen',
    text: (email) => `${email} wird wieder die Adresse Ihres Kontos.`,
    ends: 'Alle Sitzungen enden. Das Passwort und was zum Anmelden dazukam, gelten nicht mehr. Eine E-Mail an diese Adresse führt dann zu einem neuen Passwort.',
    submit: 'Änderung rückgängig machen',
    done: 'Ihre frühere Adresse gilt wieder',
    doneText:
      'Alle Sitzungen sind beendet. Legen Sie mit der E-Mail, die unterwegs ist, ein neues Passwort fest.',
    taken: 'Diese Adresse gehört inzwischen zu einem anderen Konto. Bitten Sie die Administration um Hilfe.',
    expired:
      'Er ist abgelaufen oder schon verwendet, oder die Administration hat das Konto seitdem geändert.',
  },
  missing: 'Öffnen Sie diese Seite mit dem Link aus unserer E-Mail.',
};

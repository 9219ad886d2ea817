// German texts of the page of an invitation.
import { recoveryCodeTexts } from '../../../common/messages/de/recovery-codes.ts';
import type { InvitationTexts } from '../en/invitation.ts';

export const invitation: InvitationTexts = {
  title: 'Einladung annehmen',
  text: 'Ein Konto steht für Sie bereit. Wählen Sie ein Passwort, mit dem Sie sich anmelden.',
  submit: 'Annehmen und anmelden',
  done: 'Ihr Konto ist bereit',
  accepted: 'Die Einladung ist angenommen. Melden Sie sich mit dem eben gewählten Passwort an.',
  before: 'Sie haben diese Einladung schon angenommen. Sie können sich anmelden.',
  expired: 'Er ist abgelaufen, wurde durch einen neueren ersetzt oder die Einladung wurde zurückgezogen.',
  missing: 'Öffnen Sie diese Seite mit dem Link aus unserer E-Mail.',
  passkey: {
    title: 'Oder ohne Passwort',
    text: 'Mit einem Passkey melden Sie sich per Fingerabdruck, Gesicht oder Bildschirmsperre an.',
    submit: 'Mit einem Passkey annehmen',
    failed: 'Es ist nichts passiert. Versuchen Sie es noch einmal, oder wählen Sie ein Passwort.',
  },
  codes: {
    ...recoveryCodeTexts,
    text: 'Wenn Sie Ihren Passkey verlieren, legen Sie mit „Passwort vergessen?“ ein Passwort fest. Dann melden Sie sich damit und mit einem dieser Codes an. Jeder gilt einmal. Sie werden nur jetzt gezeigt.',
    copy: 'Kopieren',
    copied: 'Kopiert',
    ready:
      'Die Einladung ist angenommen. Melden Sie sich mit Ihrem Passkey an, sobald Sie die Codes aufbewahrt haben.',
    failed: 'Es ist nichts passiert. Versuchen Sie es noch einmal.',
  },
};

// German texts of the page of an invitation.
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
};

// German texts of the dialog that asks for a new email address.
import type { Widened } from '../../../common/messages/type.ts';
import type { emailChange as en } from '../en/email-change.ts';

export const emailChange: Widened<typeof en> = {
  title: 'E-Mail-Adresse ändern',
  text: (email) => `Sie melden sich mit ${email} an.`,
  field: 'Neue E-Mail-Adresse',
  help: 'Wir senden einen Link an die neue Adresse. Wenn Sie ihn öffnen, endet jede andere Sitzung Ihres Kontos.',
  submit: 'Link senden',
  sent: (email) => `Falls ${email} verwendet werden kann, ist eine E-Mail mit einem Link dorthin unterwegs.`,
  next: 'Bis Sie den Link öffnen, ändert sich nichts. Er ist 24 Stunden gültig.',
};

// German texts of the page that keeps an account.
import type { LeavingTexts } from '../en/leaving.ts';

export const leaving: LeavingTexts = {
  title: 'Konto behalten',
  text: 'Dieses Konto ist deaktiviert und soll entfernt werden. Sie können es behalten, mit allem, was dazugehörte.',
  submit: 'Konto behalten',
  done: 'Ihr Konto bleibt',
  doneText:
    'Es ist wieder aktiv, und Sie können sich anmelden. Falls jemand anders es gelöscht hat, ändern Sie Ihr Passwort.',
  over: 'Das Konto wurde schon behalten oder entfernt, oder die Administration hat darüber entschieden.',
  missing: 'Öffnen Sie diese Seite mit dem Link aus unserer E-Mail.',
};

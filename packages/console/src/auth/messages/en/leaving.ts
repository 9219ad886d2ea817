// English texts of the page that keeps an account. They load with it: most people never see it.
import type { Widened } from '../../../common/messages/type.ts';

export const leaving = {
  title: 'Keep your account',
  text: 'This account is deactivated and waits to be removed. You can keep it, with everything that it had.',
  submit: 'Keep the account',
  done: 'Your account stays',
  doneText: 'It is active again. You can sign in. If somebody else deleted it, change your password.',
  over: 'The account was kept or removed before, or an administrator decided about it.',
  missing: 'Open this page with the link in our mail.',
};

export type LeavingTexts = Widened<typeof leaving>;

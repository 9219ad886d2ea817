// English texts of the page of an invitation. They load with it: most people never see it.
import type { Widened } from '../../../common/messages/type.ts';

export const invitation = {
  title: 'Accept your invitation',
  text: 'An account is ready for you. Choose a password to sign in with.',
  submit: 'Accept and sign in',
  done: 'Your account is ready',
  accepted: 'The invitation is accepted. Sign in with the password that you have just chosen.',
  before: 'You have accepted this invitation before. You can sign in.',
  expired: 'It has expired, was replaced by a newer one, or was withdrawn.',
  missing: 'Open this page with the link in our mail.',
};

export type InvitationTexts = Widened<typeof invitation>;

// English texts of the page of an invitation. They load with it: most people never see it.
import { recoveryCodeTexts } from '../../../common/messages/en/recovery-codes.ts';
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
  passkey: {
    title: 'Or without a password',
    text: 'A passkey signs you in with your fingerprint, face or screen lock.',
    submit: 'Accept with a passkey',
    failed: 'Nothing happened. Try again, or choose a password.',
  },
  codes: {
    ...recoveryCodeTexts,
    text: 'If you lose your passkey, set a password with “Forgot your password?”. You then sign in with it and one of these codes. Each works once. They are shown only now.',
    copy: 'Copy',
    copied: 'Copied',
    ready: 'The invitation is accepted. Sign in with your passkey once you have kept the codes.',
    failed: 'Nothing happened. Try again.',
  },
};

export type InvitationTexts = Widened<typeof invitation>;

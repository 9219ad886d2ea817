// English texts of the pages of people who are not signed in.
import { passwordTexts } from '../../../common/messages/en/password.ts';
import type { Widened } from '../../../common/messages/type.ts';

const noTexts: Readonly<Record<string, string>> = {};

export const en = {
  email: 'Email address',
  password: 'Password',
  newPassword: 'New password',
  firstName: 'First name',
  lastName: 'Last name (optional)',
  checklist: passwordTexts,
  continue: 'Continue',
  toSignIn: 'Go to sign-in',
  languages: 'Language',
  working: 'One moment…',
  offline: 'The service cannot be reached. Check your connection and try again.',
  timeout: 'The service does not respond. Try again.',
  cookies: 'Your browser did not keep our cookie. Allow cookies for this site and try again.',
  limited: (wait: string) => `Too many requests. Try again ${wait}.`,
  waiting: (wait: string) => `Try again ${wait}`,
  unexpected: 'Something unexpected happened. Try again.',
  /** By code of the service. A code that is not here shows the text of the service. */
  byCode: noTexts,
  /** By code of a field error. */
  byField: noTexts,
  login: {
    title: 'Sign in',
    submit: 'Sign in',
    forgot: 'Forgot your password?',
    register: 'Create an account',
    noAccount: 'No account yet?',
    locked: (wait: string) => `This account is locked after too many failed attempts. Try again ${wait}.`,
    unverified: 'This email address is not confirmed yet. Follow the link in our mail, or request a new one.',
    resend: 'Send a new link',
    recovery: 'Sign in with your password. We then use the link that you have opened.',
  },
  /** The title of the second step, whose other texts load with it. */
  secondStep: 'Confirm that it is you',
  register: {
    title: 'Create an account',
    submit: 'Create the account',
    known: 'Do you already have an account?',
    taken: 'An account with this email address already exists. Sign in, or set a new password.',
    reset: 'Set a new password',
  },
  checkEmail: {
    title: 'Check your mail',
    text: (email: string) => `We sent a mail to ${email}. Follow the link in it to confirm the address.`,
    textWithout: 'Follow the link in our mail to confirm your email address.',
    help: 'Nothing there? Look into the spam folder, or request a new mail.',
    resend: 'Send it again',
    resendIn: (wait: string) => `Send it again ${wait}`,
    sent: 'If this email address belongs to an account that is not confirmed yet, a mail with a link is on its way.',
  },
  verify: {
    title: 'Confirm your email address',
    checking: 'Checking the link…',
    text: 'This activates the account with the password chosen at registration.',
    submit: 'Confirm my email address',
    other: 'Did someone else register with your email address?',
    declineText: 'If you do not want an account, remove it. The email address can then be registered again.',
    decline: 'This was not me: remove the account',
    ownText:
      'To keep the account, choose a password that only you know. It replaces the one chosen at registration.',
    own: 'Confirm with this password',
    done: 'Your email address is confirmed',
    doneText: 'Thank you. You can sign in now and close this page.',
    ownDone: 'Thank you. Sign in with the password that you have just chosen.',
    before: 'It was confirmed before. You can sign in now and close this page.',
    declined: 'The account is removed',
    declinedText: 'Nobody can sign in with it. You can close this page.',
    expired: 'It has expired, was already used, or was replaced by a newer one. Request a new one:',
    missing: 'Open this page with the link in our mail. If you do not have one, request a new one:',
    resend: 'Send a new link',
    sent: 'If this email address belongs to an account that is not confirmed yet, a mail with a link is on its way.',
  },
  broken: 'This link does not work',
  forgot: {
    title: 'Forgot your password?',
    text: (lifetime: string) =>
      `We will send you a link to set a new one. It works once, within ${lifetime}.`,
    submit: 'Send the link',
    done: 'Check your mail',
    sent: 'If this email address has an active account, a mail with a link is on its way.',
  },
  reset: {
    title: 'Set a new password',
    submit: 'Set the password',
    done: 'Your password is set',
    doneText: 'Every session has ended. Sign in with the new password.',
    expired: 'It has expired, was already used, or was replaced by a newer one.',
    missing: 'Open this page with the link in our mail.',
    again: 'Request a new link',
  },
  missing: {
    title: 'There is no page at this address',
    text: 'Check the address. If you followed a link, it may have been cut off.',
    start: 'Go to the start page',
  },
};

export type AuthTexts = Widened<typeof en>;

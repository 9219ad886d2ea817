// English texts of signing in with a provider. They load when one of them is needed.
import type { Widened } from '../../../common/messages/type.ts';

export const via = {
  signIn: (provider: string) => `Continue with ${provider}`,
  or: 'Or sign in another way',
  away: (provider: string) =>
    `${provider} cannot be reached right now. Try again in a moment, or sign in another way.`,
  back: 'Back to sign-in',
  cancel: 'Cancel',
  connect: {
    title: (provider: string) => `Connect ${provider} with your account`,
    exists: 'An account with this address exists. Sign in to it as usual, then confirm.',
    from: (provider: string) => `${provider} says that you are`,
    signIn: 'Sign in',
    account: 'You are signed in as',
    confirm: (provider: string) => `From then on, ${provider} signs you in to this account.`,
    submit: 'Connect',
    other: 'Use another account',
    again: 'Your sign-in is too long ago for this. Sign in again, then confirm.',
    signInAgain: 'Sign in again',
    taken: (provider: string) => `This account at ${provider} is connected to another account here.`,
  },
  email: {
    title: 'Confirm your email address',
    text: (provider: string) =>
      `We do not know yet that this address is yours: ${provider} does not say so. We will mail a code to it.`,
    submit: 'Send the code',
    sent: 'If this address can be used here, a mail with a code is on its way. It works for 15 minutes.',
    code: 'Code from the mail',
    malformed: 'The code has eight digits. Check it and try again.',
    confirm: 'Confirm',
    resend: 'Send a new code',
    resendIn: (wait: string) => `Send a new code ${wait}`,
    other: 'Use another address',
  },
  signUp: {
    title: 'You have no account here yet',
    text: (provider: string) => `${provider} knows you, but it may not create accounts here for you.`,
    ask: 'Ask your administrator for an account. Then sign in again.',
    address: 'Your address at this provider',
  },
  gone: {
    title: 'This sign-in has expired',
    text: 'It was finished, took too long, or began in another browser.',
  },
  failed: {
    title: 'You are not signed in',
    connecting: 'Nothing was connected',
    /** By what went wrong. */
    kinds: {
      denied: 'The sign-in was cancelled at the provider.',
      expired: 'The sign-in took too long, was finished before, or began in another browser.',
      unavailable: 'The provider does not answer. Try again in a moment, or sign in another way.',
      unacceptable:
        'The answer of the provider cannot be accepted. If it happens again, tell your administrator.',
      not_allowed: 'You cannot sign in with this. If you think that you should, ask your administrator.',
      invitation: 'Your invitation has ended. Ask your administrator for a new one.',
      limited: 'Too many attempts from here. Try again later.',
      taken: 'This account at the provider is connected to another account here.',
      session: 'You were signed out by then. Sign in, then connect it again.',
      other: 'Something unexpected happened. If it happens again, tell your administrator.',
    },
    provider: 'Provider',
    request: 'Request',
    again: 'Begin again',
    account: 'Back to your account',
  },
};

export type ProviderTexts = Widened<typeof via>;

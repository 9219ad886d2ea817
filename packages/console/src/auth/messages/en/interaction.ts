// English texts of the pages between an application's request and its answer.
import { scopeTexts } from '../../../common/messages/en/scopes.ts';
import type { Widened } from '../../../common/messages/type.ts';

export const asked = {
  /** Where no application is named. */
  application: 'The application',
  to: (application: string) => `to continue to ${application}`,
  account: 'Signed in as',
  retry: 'Try again',
  otherAccount: 'Use another account',
  finished: {
    title: 'This sign-in is finished',
    text: 'Begin again in the application.',
  },
  left: {
    title: 'Go on in the application',
    text: 'You can close this page.',
  },
  choose: {
    title: 'Choose an account',
    submit: (name: string) => `Continue as ${name}`,
  },
  refused: {
    title: (application: string) => `You cannot use ${application}`,
    permission: 'Your account lacks the permission that this application requires:',
    text: 'This application is not open to your account.',
    help: 'Ask your administrator for a role that has it. Then sign in again in the application.',
    helpWithout: 'Ask your administrator for access. Then sign in again in the application.',
    back: (application: string) => `Back to ${application}`,
  },
  consent: {
    title: (application: string) => `${application} asks for access`,
    host: 'You are sent back to',
    native: 'You are sent back to a program on this device.',
    scopes: 'It could then:',
    scopeTexts,
    isNew: 'new',
    permissions: 'It could do this in your name:',
    offline: (until: string) => `The access lasts when you are not there, until ${until} at the latest.`,
    session: (until: string) => `The access lasts while you are signed in, until ${until} at the latest.`,
    withdraw: 'You can take it back in your account at any time.',
    policy: 'Privacy policy',
    terms: 'Terms of use',
    allow: 'Allow',
    deny: 'Deny',
  },
  device: {
    title: 'Connect a device',
    text: 'Enter the code that your device shows.',
    code: 'Code',
    submit: 'Continue',
    malformed: 'The code has eight letters, such as BCDF-GHJK. Check it and try again.',
    unknown: 'This code is wrong or has expired. Check it, or ask your device for a new one.',
    warning: 'Only go on if you started this on your own device just now.',
    warningText: 'Anyone who sent you a link or a code would get into your account.',
    allowed: 'Your device is connected',
    allowedText: 'It goes on by itself. You can close this page.',
    denied: 'You denied the device',
    deniedText: 'It got no access. You can close this page.',
    from: 'Network',
    program: 'Program',
    unnamed: 'not told',
    when: 'Asked',
  },
  signOut: {
    title: 'Do you want to sign out?',
    text: (application: string) => `${application} asks to sign you out, here and in every application.`,
    submit: 'Sign out',
    stay: 'Stay signed in',
    done: 'You are signed out',
    doneText: 'You can close this page.',
  },
  password: {
    title: 'Choose a new password',
    text: 'Your password must be changed before you go on.',
    current: 'Current password',
    submit: 'Change the password',
  },
  proof: {
    stronger: (application: string) => `${application} asks for a stronger proof.`,
    again: (application: string) => `${application} asks you to confirm it once more.`,
    enrol: 'You need a second factor. Set one up in your account, then sign in again in the application.',
    account: 'Open your account',
  },
};

export type InteractionTexts = Widened<typeof asked>;

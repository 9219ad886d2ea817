// English texts of passkeys and of the second step. They load when one of them is needed.
import type { Widened } from '../../../common/messages/type.ts';

export const later = {
  passkey: {
    signIn: 'Sign in with a passkey',
    failed: 'Nothing happened. Try again, or use your password.',
    unknown: 'This passkey no longer works here. Use your password.',
    waiting: 'Follow your browser…',
    cancel: 'Cancel',
  },
  secondStep: {
    methods: {
      passkey: 'Passkey or security key',
      totp: 'Authenticator app',
      recovery_code: 'Recovery code',
      recovery_link: 'Mailed link',
    },
    otherWays: 'Another way',
    totp: 'Enter the six digits that your authenticator app shows.',
    code: 'Code',
    malformed: 'The code has six digits. Check it and try again.',
    recoveryCode: 'Enter one of the recovery codes that you kept. Each works once.',
    passkey: 'Use the passkey or security key that you added to your account.',
    usePasskey: 'Use passkey',
    noPasskey: 'This browser cannot use passkeys here. Choose another way, or another browser.',
    noMethod: 'None of your second factors works here. Ask your administrator to reset them.',
    submit: 'Confirm',
    trust: (days: number | null) =>
      days === null ? 'Trust this device' : `Trust this device for ${days} ${days === 1 ? 'day' : 'days'}`,
    left: (count: number) => `This code is wrong. ${count} ${count === 1 ? 'try' : 'tries'} left.`,
    noneLeft: 'Too many wrong codes. Start the sign-in again.',
    locked: (wait: string) => `Too many wrong codes. Try again ${wait}, or choose another way.`,
    failed: 'Nothing happened. Try again, or choose another way.',
    unknownPasskey: 'This passkey no longer works here. Choose another way.',
    expired: 'This sign-in has expired. Start again.',
    link: 'Your second factor was reset. To sign in without it, open the link that your administrator gave you, or that we mailed to the address above. Then sign in again.',
    sendLink: 'Send the link again',
    sendLinkIn: (wait: string) => `Send the link again ${wait}`,
    linkSent: 'If this sign-in needs a link, a mail is on its way.',
    linkReady: 'You have opened the link. Use it to sign in.',
    useLink: 'Sign in with the link',
    linkDead: 'The link has expired, was already used, or was replaced by a newer one.',
    back: 'Start the sign-in again',
  },
};

export type LaterTexts = Widened<typeof later>;

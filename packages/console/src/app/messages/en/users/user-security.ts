// Texts of the second factors of another user, for administrators.
import { createPlural } from '../../../../common/language.ts';

const plural = createPlural('en');

export const userSecurity = {
  factors: 'Second factors',
  none: 'None. The password alone signs in.',
  kinds: { passkey: 'Passkey', security_key: 'Security key' },
  suspended:
    'After too many wrong codes the app no longer counts. They set it up again, or you reset their second factor.',
  pending: 'The second factor was reset. The next sign-in takes the password and the recovery link.',
  levels: { aal1: 'a password', aal2: 'a second factor', phr: 'a passkey or a security key' },
  required: (level: string) => `Required: ${level}.`,
  requiredSince: (level: string, day: string) => `Required since ${day}: ${level}.`,
  requiredFrom: (level: string, day: string) => `Required from ${day}: ${level}.`,
  met: 'It is set up.',
  missing: 'It is missing: until it is set up, nothing else is open to them.',
  missingYet: 'It is missing.',
  closed: (moment: string) =>
    `Wrong codes have closed the authenticator app until ${moment}. Recovery codes and passkeys still work.`,
  devices: {
    title: 'Devices',
    trusted: (count: number) =>
      plural(count, {
        one: 'On # trusted device, the password alone signs in.',
        other: 'On # trusted devices, the password alone signs in.',
      }),
    none: 'No device is trusted.',
    forget: 'Forget all devices',
    ask: (name: string) => `Forget all devices of ${name}?`,
    text: 'No device is trusted any longer, and none passes a lock. Mailed links end as well. Sessions go on.',
    done: (name: string) => `All devices of ${name} are forgotten.`,
  },
  reset: {
    act: 'Reset second factor',
    again: 'New recovery link',
    ask: (name: string) => `Reset the second factor of ${name}?`,
    askAgain: (name: string) => `Make a new recovery link for ${name}?`,
    ends: 'This ends:',
    codes: (count: number) => plural(count, { one: '# recovery code', other: '# recovery codes' }),
    others: 'all sessions, trusted devices and mailed links',
    formerLink: 'the former recovery link',
    after:
      'Their password stays. The next sign-in takes it together with a recovery link, which works once, for 24 hours.',
    deliver: 'Recovery link',
    mail: 'Mail it to them',
    mailHelp: (email: string) => `It goes to ${email}.`,
    show: 'Show it to me once',
    showHelp: 'If others may read their mail. Hand it over in person.',
    reason: 'Reason',
    reasonHelp: 'For the audit log. Do not write down anything secret.',
    mailed: (name: string) => `The second factor of ${name} is reset. The recovery link is on its way.`,
    shownTitle: 'Hand over the recovery link',
    link: 'Recovery link',
    once: 'It is shown only now. Without the password it is worth nothing.',
    expires: (moment: string) => `It works once, until ${moment}.`,
    done: 'Done',
  },
};

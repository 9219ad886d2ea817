// English texts of the pages that change an email address by a link. They load with them: most people never see them.
import type { Widened } from '../../../common/messages/type.ts';

export const emailLink = {
  change: {
    title: 'Confirm your new email address',
    text: (email: string) => `From now on, you sign in with ${email}.`,
    ends: 'Every other session of your account ends.',
    submit: 'Confirm the address',
    done: 'Your email address is changed',
    doneText: 'You sign in with the new address from now on.',
    before: 'It was confirmed before. You sign in with the new address.',
    taken: 'Another account has this address now, so it was not changed.',
    expired:
      'It has expired, was used, or was replaced by a newer one. Change the address again in your account.',
  },
  undo: {
    title: 'Take your account back',
    text: (email: string) => `This makes ${email} the address of your account again.`,
    ends: 'It signs everybody out and ends the password and what was added to sign in with. You then get a mail with the link that sets a new password.',
    submit: 'Undo the change',
    done: 'Your former address is back',
    doneText: 'Everybody is signed out. Set a new password with the mail that is on its way to you.',
    taken: 'Another account has this address now. Ask an administrator for help.',
    expired: 'It has expired or was used, or an administrator has changed the account since.',
  },
  missing: 'Open this page with the link in our mail.',
};

export type EmailLinkTexts = Widened<typeof emailLink>;

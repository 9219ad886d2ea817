// Texts of one's own data, and of leaving.
import { createPlural } from '../../../common/language.ts';

const plural = createPlural('en');

export const leaving = {
  title: 'Your data',
  text: 'A file with what is kept about you: your account, your access, how and where you sign in, and the latest entries of the audit log. Once an hour.',
  download: 'Download my data',
  remove: 'Delete my account',
  ask: 'Delete your account?',
  atOnce: 'All your sessions end at once, also at applications, and nobody can sign in to the account.',
  keep: (days: number) =>
    days === 0
      ? 'We mail you a link that keeps the account until it is removed, which is soon.'
      : plural(days, {
          one: 'We mail you a link that keeps the account. It works for # day; then the account is removed for good.',
          other:
            'We mail you a link that keeps the account. It works for # days; then the account is removed for good.',
        }),
  password: 'Current password',
  gone: 'Your account is deactivated',
  goneText: (day: string) =>
    `It is removed on ${day} or soon after. Until then, the link in our mail keeps it.`,
  onward: 'Go to the sign-in page',
};

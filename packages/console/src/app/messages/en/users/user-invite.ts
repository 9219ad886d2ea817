// Texts of the invitation of users.
import { createPlural } from '../../../../common/language.ts';

const plural = createPlural('en');

export const userInvite = {
  title: 'Invite users',
  text: 'Each of them gets a mail with a link, chooses a password and can sign in. Until then, nobody can sign in to the account.',
  addresses: 'Email addresses',
  addressesHelp: 'One a line, alone or as Name <address>. People without a name here enter it later.',
  lifetime: 'The link works for',
  lifetimeOfService: 'As long as this service sets it',
  days: (count: number) => plural(count, { one: '# day', other: '# days' }),
  tooMany: (count: number) =>
    `At most 500 people can be invited at once; these are ${plural(count, { one: '#', other: '#' })}.`,
  submit: (count: number) =>
    count === 0 ? 'Invite' : plural(count, { one: 'Invite # person', other: 'Invite # people' }),
  result: (invited: number, refused: number) =>
    [
      plural(invited, { one: '# person is invited.', other: '# people are invited.' }),
      ...(refused > 0 ? [plural(refused, { one: '# row was refused.', other: '# rows were refused.' })] : []),
    ].join(' '),
  verdicts: 'What became of each row',
  invited: 'Invited',
  refused: 'Refused',
  retry: 'Correct the refused rows',
};

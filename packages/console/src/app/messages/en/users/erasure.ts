// English texts of the dialog that erases a user.
import { createPlural } from '../../../../common/language.ts';

const plural = createPlural('en');

export const erasure = {
  ask: (name: string) => `Erase ${name}?`,
  act: 'Erase for good',
  goes: 'This cannot be undone. What goes:',
  account: (roles: number) =>
    roles === 0
      ? 'the account, with its sessions and tokens'
      : plural(roles, {
          one: 'the account, with its role, its sessions and tokens',
          other: 'the account, with its # roles, its sessions and tokens',
        }),
  log: 'from the audit log: their email addresses, names, networks and devices',
  stays: 'The entries of the audit log stay, with their times, actions and ids.',
  beyond:
    'It does not reach backups, exported entries, sent mails and logs. After restoring a backup from before, erase them again.',
  type: (email: string) => `Type ${email} to confirm`,
  done: (entries: number) =>
    `The account is erased${plural(entries, { one: ', with the personal data of # audit entry.', other: ', with the personal data of # audit entries.' })}`,
  unfinished: (entries: number) =>
    `The account is deleted. ${plural(entries, { one: '# audit entry is erased so far', other: '# audit entries are erased so far' })}; the clean-up erases the rest.`,
};

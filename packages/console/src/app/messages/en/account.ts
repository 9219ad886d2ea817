// Texts of the page My account.
import { createPlural } from '../../../common/language.ts';

const plural = createPlural('en');

export const account = {
  title: 'My account',
  signOut: 'Sign out',
  signOutEverywhere: 'Sign out everywhere',
  signOutEverywhereText: 'Every session of your account ends, in this browser too.',
  mustChange: {
    title: 'Choose a new password first',
    text: 'An administrator asks you to change your password. Until then, nothing else is open to you.',
  },
  profile: {
    title: 'Profile',
    firstName: 'First name',
    lastName: 'Last name',
    email: 'Email address',
    changeEmail: 'Change the email address',
    roles: 'Roles',
    rolesFixed: 'Administrators assign roles.',
    noRoles: 'No roles',
    since: (day: string) => `Member since ${day}`,
    saved: 'Your names are saved.',
  },
  password: {
    title: 'Password',
    current: 'Current password',
    next: 'New password',
    submit: 'Change the password',
    help: 'Every other session of your account ends.',
    changed: 'Your password is changed. All other sessions were ended.',
  },
  sessions: {
    title: 'My sessions',
    text: 'Where you are signed in. End what you do not know, then change your password.',
    endOthers: (count: number) =>
      plural(count, { one: 'End # other session', other: 'End # other sessions' }),
    onlyThis: 'You are signed in only here.',
    ended: 'The session is ended.',
    endedOthers: (count: number) =>
      plural(count, { one: '# session is ended.', other: '# sessions are ended.' }),
    endThisTitle: 'End this session?',
    endThisText: 'This is the session that you use now. You will be signed out.',
    endOthersTitle: 'End all other sessions?',
    endOthersText: 'They are signed out at once. This session stays.',
    end: 'End',
  },
  access: {
    title: 'My access',
    text: 'What you may do, and which role gives it to you.',
  },
};

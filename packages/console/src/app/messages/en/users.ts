// Texts of the pages Users and New user, and of the role picker.
import { createPlural } from '../../../common/language.ts';

const plural = createPlural('en');

export const users = {
  importCsv: 'Import CSV',
  importExport: 'Import, export',
  title: 'Users',
  pane: 'User',
  count: (count: number, isFiltered: boolean) =>
    isFiltered
      ? plural(count, { one: '# match', other: '# matches' })
      : plural(count, { one: '# account', other: '# accounts' }),
  create: 'Create user',
  empty: 'There are no users yet.',
  firstPage: 'Go to the first page',
  missing: 'This user does not exist',
  missingText: 'The account was deleted, or the link is wrong.',
  columns: {
    user: 'User',
    status: 'Status',
    roles: 'Roles',
    sessions: 'Sessions',
    lastActive: 'Last active',
    created: 'Created',
  },
  tabs: { profile: 'Profile', access: 'Access', sessions: 'Sessions', activity: 'Activity' },
  filters: {
    label: 'Filter users',
    active: 'Active filters',
    search: 'Name, email or ID',
    anyStatus: 'Any status',
    role: 'Role',
    anyRole: 'Any role',
    noRoles: 'Without roles',
    verified: 'Email verified',
    unverified: 'Email not verified',
    activeOnly: 'Activated accounts',
    inactiveOnly: 'Deactivated accounts',
    removedWithin: (hours: number) =>
      plural(hours, { one: 'Removed within # hour', other: 'Removed within # hours' }),
  },
  fields: {
    email: 'Email',
    first_name: 'First name',
    last_name: 'Last name',
    verified: 'Email verified',
    must_change_password: 'Must change their password',
  },
  fieldHelp: {
    verified: 'Turning it off ends all sessions until the user verifies the address again.',
    must_change_password: 'Until then, they can only sign in and choose a new password.',
  },
  rules: {
    self: 'You cannot do this to your own account, so that you do not lock yourself out.',
    superuser: 'Only a superuser can change a superuser.',
    onlySuperusers: 'Only a superuser can change this.',
    ownPassword: 'Change your own password on the page My account.',
    inactive: 'Activate the account first: inactive accounts get no mail.',
  },
  acts: {
    roles: 'Manage roles',
    activate: 'Activate',
    deactivate: 'Deactivate',
    promote: 'Make superuser',
    demote: 'Remove superuser',
    unlock: 'Unlock',
    resend: 'Resend verification',
    endSessions: 'End all sessions',
    password: 'Set password',
  },
  ask: {
    activate: (name: string) => `Activate ${name}?`,
    deactivate: (name: string) => `Deactivate ${name}?`,
    promote: (name: string) => `Make ${name} a superuser?`,
    demote: (name: string) => `Remove superuser from ${name}?`,
    unlock: (name: string) => `Unlock ${name}?`,
    resend: (name: string) => `Send the verification mail to ${name} again?`,
    endSessions: (name: string) => `End all sessions of ${name}?`,
    remove: (name: string) => `Delete ${name}?`,
  },
  explain: {
    activate: 'They can sign in again, with the roles they have.',
    deactivate: 'All their sessions end at once. They keep their roles and cannot sign in.',
    promote: 'A superuser holds every permission, also those that are created later.',
    demote: 'They keep what their roles permit.',
    unlock: 'The lock after failed sign-ins ends. Their password stays the same.',
    resend: 'The new mail replaces the link of the mail before.',
    endSessions: 'They are signed out everywhere at once. Mailed links end as well.',
    remove: 'The account is deleted for good. The audit log keeps what they did.',
  },
  done: {
    activate: (name: string) => `${name} is active.`,
    deactivate: (name: string) => `${name} is deactivated.`,
    promote: (name: string) => `${name} is a superuser.`,
    demote: (name: string) => `${name} is no longer a superuser.`,
    unlock: (name: string) => `${name} is unlocked.`,
    resend: (name: string) => `The mail to ${name} is on its way.`,
    endSessions: (name: string) => `All sessions of ${name} have ended.`,
    remove: (name: string) => `${name} is deleted.`,
  },
  remove: {
    blocked: (count: number) =>
      plural(count, {
        one: '# role stands in the way of the deletion:',
        other: '# roles stand in the way of the deletion:',
      }),
    steps: 'The roles are removed first, then the account is deleted.',
    rolesAndUser: 'Remove them and delete',
    half: (count: number) =>
      plural(count, {
        one: 'The account was not deleted, but its role is removed:',
        other: 'The account was not deleted, but its # roles are removed:',
      }),
    giveBack: 'Give the roles back',
    givenBack: (name: string) => `${name} has the roles again.`,
  },
  profile: {
    account: 'Account',
    updated: 'Changed',
    id: 'ID',
    saved: 'Saved.',
  },
  access: {
    roles: (count: number) => plural(count, { one: '# role', other: '# roles' }),
    noRoles: 'No roles yet.',
    assign: 'Assign roles',
    assignTo: (name: string) => `Assign roles to ${name}`,
    assigned: (count: number, name: string) =>
      `${name}: ${plural(count, { one: '# role assigned.', other: '# roles assigned.' })}`,
    removeRole: (role: string) => `Remove the role ${role}`,
    removeFrom: (role: string, name: string) => `Remove ${role} from ${name}?`,
    removed: (role: string, name: string) => `${role} was removed from ${name}.`,
    permissions: 'Effective permissions',
  },
  sessions: {
    title: (count: number) => plural(count, { one: '# live session', other: '# live sessions' }),
    none: 'Not signed in anywhere.',
  },
  password: {
    kind: 'How the password is made',
    label: 'Password',
    generated: 'Generate',
    typed: 'Type',
    once: 'It is shown only now. Copy it and pass it on over a safe channel.',
    refused: 'The service refused this password. See the rules below.',
    title: (name: string) => `Set a password for ${name}`,
    text: 'All sessions of the user end.',
    done: 'The password is set. All sessions have ended.',
  },
  new: {
    title: 'New user',
    rolesHelp: 'You can only assign roles whose permissions you hold yourself.',
    taken: 'An account with this email already exists.',
    openExisting: (name: string) => `Open ${name}`,
    permissions: (count: number) =>
      plural(count, { one: '# resulting permission', other: '# resulting permissions' }),
    permissionsUnknown: 'Resulting permissions',
    noPermissions: 'Without roles, the user can only use their own account.',
    via: (roles: string) => `by ${roles}`,
    created: (name: string) => `${name} was created`,
    passOn: 'No mail is sent: tell them how to sign in.',
    signInAt: 'Address',
    mustChange: 'They must choose a password of their own when they first sign in.',
    mayKeep: 'They can keep this password.',
    open: 'Open the user',
    another: 'Create another',
  },
  bulk: {
    label: 'Selected users',
    everyMatch: (count: number) => plural(count, { one: 'The one match', other: 'All # matches' }),
    selectEveryMatch: (count: number) =>
      plural(count, { one: 'Select # match', other: 'Select all # matching' }),
    acts: {
      addRoles: 'Add roles',
      removeRoles: 'Remove roles',
      activate: 'Activate',
      deactivate: 'Deactivate',
      endSessions: 'End sessions',
    },
    ask: {
      addRoles: (count: number) =>
        plural(count, { one: 'Add roles to # user', other: 'Add roles to # users' }),
      removeRoles: (count: number) =>
        plural(count, { one: 'Remove roles from # user', other: 'Remove roles from # users' }),
      activate: (count: number) => plural(count, { one: 'Activate # user', other: 'Activate # users' }),
      deactivate: (count: number) => plural(count, { one: 'Deactivate # user', other: 'Deactivate # users' }),
      endSessions: (count: number) =>
        plural(count, { one: 'End the sessions of # user', other: 'End the sessions of # users' }),
    },
    done: {
      addRoles: (count: number) =>
        plural(count, { one: 'Roles added to # user.', other: 'Roles added to # users.' }),
      removeRoles: (count: number) =>
        plural(count, { one: 'Roles removed from # user.', other: 'Roles removed from # users.' }),
      activate: (count: number) => plural(count, { one: '# user is active.', other: '# users are active.' }),
      deactivate: (count: number) =>
        plural(count, { one: '# user is deactivated.', other: '# users are deactivated.' }),
      endSessions: (count: number) =>
        plural(count, { one: 'The sessions of # user ended.', other: 'The sessions of # users ended.' }),
    },
    endSessions: 'They are signed out everywhere at once. Each user is a request of their own.',
    reading: (read: string, all: string) => `${read} of ${all}`,
    freezing: 'Finding everybody who matches now. Who is created later is not meant.',
    stop: 'Stop',
    stopping: 'Stops after the request under way…',
    stopped: 'You stopped it.',
    unknown: (count: number) =>
      plural(count, {
        one: 'The last request, for # user, got no answer: it may have been carried out. The user stays selected, and repeating it does no harm.',
        other:
          'The last request, for # users, got no answer: it may have been carried out. They stay selected, and repeating it does no harm.',
      }),
    undo: (count: number) => plural(count, { one: 'Undo it for # user', other: 'Undo it for # users' }),
    undoing: 'Undoing',
    takenBack: (done: number, left: number) =>
      [
        plural(done, { one: 'Undone for # user.', other: 'Undone for # users.' }),
        ...(left > 0 ? [plural(left, { one: '# keeps the change.', other: '# keep the change.' })] : []),
      ].join(' '),
    goOn: (count: number) =>
      plural(count, { one: 'Review the other one again', other: 'Review the other # again' }),
    skipped: 'Left out:',
    skipReasons: {
      self: (_count: number) => 'Yourself',
      superuser: (count: number) =>
        plural(count, {
          one: '# superuser, whom only superusers change:',
          other: '# superusers, whom only superusers change:',
        }),
      already: (count: number) =>
        plural(count, { one: '# for whom nothing would change:', other: '# for whom nothing would change:' }),
    },
    refused: (done: number, left: number) =>
      `${plural(done, { one: '# user was changed.', other: '# users were changed.' })} ${plural(left, { one: '# was not, and stays selected.', other: '# were not, and stay selected.' })}`,
    leaveOut: (count: number) =>
      plural(count, {
        one: 'Leave # user out and review again',
        other: 'Leave # users out and review again',
      }),
  },
  export: {
    title: (count: number) => plural(count, { one: 'Export # user', other: 'Export # users' }),
    selected: 'The file holds the selected users.',
    matching: 'The file holds all users that match the filters, from all pages.',
    columns: (names: string) => `Columns: ${names}. Change them in the menu Columns.`,
    start: (count: string) => `Export ${count}`,
    done: (count: number) => plural(count, { one: '# user exported.', other: '# users exported.' }),
  },
  rolePicker: {
    placeholder: 'Type part of a name',
    none: 'No role has this in its name.',
    permissions: (count: number) => plural(count, { one: '# permission', other: '# permissions' }),
  },
};

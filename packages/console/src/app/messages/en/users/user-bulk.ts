// Texts of changes of many users.
import { createPlural } from '../../../../common/language.ts';

const plural = createPlural('en');

export const userBulk = {
  ask: {
    addRoles: (count: number) => plural(count, { one: 'Add roles to # user', other: 'Add roles to # users' }),
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
  endSessions: 'They are signed out everywhere at once. Each user takes a separate request.',
  freezing: 'Finding everybody who matches now. Who is created later is not meant.',
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
};

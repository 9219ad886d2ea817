// `castellan user …`: reading, changing and deleting users.
import type { ListedUser } from '@castellan/sdk';
import { change, changeOptions, destructiveOptions, isDryRun, report } from '../../../api/changes.ts';
import { apiOptions, overApi } from '../../../api/connection.ts';
import { yesNoField } from '../../../api/fields.ts';
import { roleId, userId } from '../../../api/names.ts';
import { type Column, listOptions, printList } from '../../../api/output.ts';
import { commandsOf, externalIdField } from '../../../api/records.ts';
import { jsonText } from '../../../api/text.ts';
import { emailOf, pagesById, sendPasswordLink, type UserQuery } from '../../../api/users.ts';
import { type Command, given, optionOf } from '../../../command.ts';
import { nameFields, user, userOf } from './arguments.ts';

const users = commandsOf({
  noun: 'user',
  argument: user,
  all: '/api/v1/users',
  one: '/api/v1/users/{user_id}',
  find: userId,
  hasPreviews: true,
});

/** `first_name` has both names. `user permissions` lists the permissions. */
type NotShown = 'last_name' | 'permissions' | 'updated_at';
/** In a list, `is_active` and `roles` have the first two. */
type State = 'verified' | 'is_superuser' | 'must_change_password' | 'invited_at' | 'deletion_due_at';
/** The list does not ask for the activity and the factors. */
type NotListed =
  | NotShown
  | State
  | 'created_at'
  | 'activity'
  | 'second_factor'
  | 'invitation'
  | 'external_id'
  | 'attributes';

const columns = Object.values({
  email: ['EMAIL', ({ email }) => email],
  first_name: ['NAME', ({ first_name, last_name }) => `${first_name} ${last_name}`.trim()],
  is_active: [
    'STATE',
    ({ is_active, verified, invited_at, deletion_due_at }) =>
      is_active
        ? invited_at
          ? 'invited'
          : verified
            ? 'active'
            : 'unverified'
        : deletion_due_at
          ? 'leaving'
          : 'inactive',
  ],
  roles: [
    'ROLES',
    ({ is_superuser, roles }) => [...(is_superuser ? ['(superuser)'] : []), ...roles.map(({ name }) => name)],
  ],
  id: ['ID', ({ id }) => id],
} satisfies Record<Exclude<keyof ListedUser, NotListed>, Column<ListedUser>>);

/** Other commands change the state, the roles and the password. */
type NotUpdated = 'is_active' | 'role_id' | 'role_ids' | 'roles' | 'password';

const update = (body: { is_active: boolean }, done: string, consequence?: string) =>
  overApi(async (api) => {
    const answer = await change(
      api,
      'PUT /api/v1/users/{user_id}',
      { path: { user_id: await userOf(api) }, body },
      { preview: true, ...(consequence ? { consequences: [consequence] } : {}) },
    );
    report(api, answer, done);
  });

export const records: Readonly<Record<string, Command>> = {
  list: {
    summary: 'List or find users.',
    options: [
      { flags: '--search <text>', help: 'Part of the name or email.' },
      {
        flags: '--status <status>',
        help: 'Only users in this state.',
        choices: ['active', 'inactive', 'locked', 'unverified'],
      },
      { flags: '--invited', help: 'Only users who have yet to accept an invitation.' },
      { flags: '--role <role>', help: 'Only users with this role, by name or id.' },
      ...listOptions,
      ...apiOptions,
    ],
    run: overApi(async (api) => {
      const { client, call } = api;
      const role = optionOf(call, 'role');
      const filter = given({
        search: optionOf(call, 'search'),
        status: optionOf(call, 'status') as UserQuery['status'],
        invited: call.values.invited === true ? true : undefined,
        role_id: role === undefined ? undefined : await roleId(api, role),
      });
      const source = {
        body: (query: { size: number }) =>
          client.get('/api/v1/users/list', { query: { ...filter, ...query, sort: 'id' } }),
        pages: (query: { size: number }) => pagesById(api, { ...filter, ...query }),
      };
      await printList(api, source, columns);
    }),
  },
  get: users.get<NotShown>({
    summary: 'Show a user.',
    facts: (data) => ({
      email: ['email', data.email],
      first_name: ['name', `${data.first_name} ${data.last_name}`.trim()],
      id: ['id', data.id],
      is_active: ['active', data.is_active],
      verified: ['verified', data.verified],
      is_superuser: ['superuser', data.is_superuser],
      must_change_password: ['must change password', data.must_change_password],
      external_id: ['external id', data.external_id],
      roles: ['roles', data.roles.map(({ name }) => name)],
      invited_at: ['invited', data.invited_at],
      deletion_due_at: ['leaves on', data.deletion_due_at],
      created_at: ['created', data.created_at],
    }),
  }),
  update: users.update<NotUpdated>({
    summary: 'Change the names, the email, the state or the external id of a user.',
    fields: {
      ...nameFields,
      verified: yesNoField('verified', 'Whether the email is verified.'),
      is_superuser: yesNoField('superuser', 'Whether the user passes every permission check.'),
      must_change_password: yesNoField(
        'must-change-password',
        'Whether the user must choose a new password.',
      ),
      external_id: externalIdField,
    },
  }),
  deactivate: {
    summary: 'Deactivate a user. Ends the sessions and refuses sign-ins.',
    arguments: [user],
    options: [...destructiveOptions, ...apiOptions],
    run: update(
      { is_active: false },
      'User deactivated.',
      'The user can no longer sign in, and all their sessions end.',
    ),
  },
  activate: {
    summary: 'Activate a user who was deactivated.',
    arguments: [user],
    options: [...changeOptions, ...apiOptions],
    run: update({ is_active: true }, 'User activated.'),
  },
  unlock: {
    summary: 'Allow sign-ins again after too many failed ones.',
    arguments: [user],
    options: [...changeOptions, ...apiOptions],
    run: overApi(async (api) => {
      const input = { path: { user_id: await userOf(api) } };
      report(api, await change(api, 'POST /api/v1/users/{user_id}/unlock', input), 'User unlocked.');
    }),
  },
  'reset-password': {
    summary: 'Mail a link with which a user sets a new password.',
    arguments: [user],
    options: [...changeOptions, ...apiOptions],
    details: ['The present password and the sessions stay until the link is used.'],
    run: overApi(async (api) => {
      const email = await emailOf(api, await userOf(api));
      if (isDryRun(api)) {
        await change(api, 'POST /api/v1/auth/password-reset/request', { body: { email } });
        return;
      }
      await sendPasswordLink(api, email);
      if (api.call.values.json === true) api.call.print(jsonText({ email }));
      else api.call.print('If the account can sign in, a link is on its way.');
    }),
  },
  'resend-verification': {
    summary: 'Send the mail that verifies the email again.',
    arguments: [user],
    options: [...changeOptions, ...apiOptions],
    run: overApi(async (api) => {
      const input = { path: { user_id: await userOf(api) } };
      report(
        api,
        await change(api, 'POST /api/v1/users/{user_id}/resend-verification', input),
        'The mail is on its way.',
      );
    }),
  },
  'resend-invitation': {
    summary: 'Send an invitation again. The earlier link ends.',
    arguments: [user],
    options: [...changeOptions, ...apiOptions],
    run: overApi(async (api) => {
      const input = { path: { user_id: await userOf(api) } };
      report(
        api,
        await change(api, 'POST /api/v1/users/{user_id}/invitation', input),
        'The mail is on its way.',
      );
    }),
  },
  'withdraw-invitation': {
    summary: 'Withdraw an invitation that was not accepted. Removes the account with its roles.',
    arguments: [user],
    options: [...destructiveOptions, ...apiOptions],
    run: overApi(async (api) => {
      const answer = await change(
        api,
        'DELETE /api/v1/users/{user_id}/invitation',
        { path: { user_id: await userOf(api) } },
        { consequences: ['The link ends, and the account is deleted with its roles.'] },
      );
      report(api, answer, 'Invitation withdrawn.');
    }),
  },
  erase: {
    summary: 'Delete a user with their roles, and the personal data in their audit entries.',
    arguments: [user],
    options: [...destructiveOptions, ...apiOptions],
    run: overApi(async (api) => {
      const answer = await change(
        api,
        'POST /api/v1/users/{user_id}/erase',
        { path: { user_id: await userOf(api) } },
        {
          preview: true,
          consequences: [
            'The account is deleted with its roles and sessions.',
            'Its name, addresses and networks in the audit log are erased. This cannot be undone.',
          ],
        },
      );
      const data = answer?.result.data;
      const isUnfinished = data !== undefined && 'finished' in data && !data.finished;
      report(
        api,
        answer,
        isUnfinished ? 'User deleted. The clean-up erases the rest of the audit entries.' : 'User erased.',
      );
    }),
  },
  delete: users.delete({
    summary: 'Delete a user without roles.',
    consequence: (name) => `The user ${name} is deleted with all sessions. This cannot be undone.`,
  }),
};

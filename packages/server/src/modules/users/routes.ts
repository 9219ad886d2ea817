// HTTP of /api/v1/users: lists and records. A user's roles, sessions and lock are in account-security-routes.ts.
import { DryRunQuery, OrPreview } from '@castellan/contract/access-changes';
import {
  BulkUpdateUsersBody,
  CreateUserBody,
  OwnUserQuery,
  UpdateMeBody,
  UpdateUserBody,
  type User,
  UserByCreationQuery,
  UserEnvelope,
  UserListEnvelope,
  UserListQuery,
  UserParams,
  UsersEnvelope,
} from '@castellan/contract/users';
import Type from 'typebox';
import { sendUnlessKnown, serialized } from '../../platform/http/answers/kept-text.ts';
import { bulkBody } from '../../platform/http/bodies/body-limits.ts';
import { creation } from '../../platform/http/plugins/idempotency.ts';
import { etagOfContent, sendEtag, type Versioned } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server/server.ts';
import { newRecord, recordNamed } from '../authz/access-fields.ts';
import { callerOf, personCallerOf, userCallerOf } from '../authz/caller.ts';
import { attributeRoutes } from './attributes/routes.ts';
import {
  createUser,
  previewUserUpdate,
  previewUserUpdates,
  type UserAdminDeps,
  updateUser,
  updateUsers,
} from './changes/administration.ts';
import { deleteUser, previewUserDeletion } from './deletion.ts';
import type { InviteDeps } from './invitations/inviting.ts';
import { invitationRoutes } from './invitations/routes.ts';
import { listUsers } from './lists/list.ts';
import { presentUsers } from './present-users.ts';
import { userText } from './presentation.ts';
import { updateMe } from './profile.ts';
import type { ResetDeps } from './second-factors/reset.ts';
import { factorRoutes } from './second-factors/routes.ts';
import { getVersionedUser } from './service.ts';
import { accessRoutes } from './sessions/account-security-routes.ts';
import type { ActAsDeps } from './sessions/acting.ts';

export function userRoutes(app: App, deps: UserAdminDeps & InviteDeps & ResetDeps & ActAsDeps): void {
  listRoutes(app, deps);
  ownRoutes(app, deps);
  recordRoutes(app, deps);
  accessRoutes(app, deps);
  factorRoutes(app, deps);
  invitationRoutes(app, deps);
  attributeRoutes(app, deps);
}

function listRoutes(app: App, deps: UserAdminDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'user.read' },
    schema: {
      summary: 'List or find users',
      querystring: UserListQuery,
      response: { 200: UserListEnvelope },
    },
    handler: async (request) => ({
      data: await listUsers(deps, request.query, callerOf(request)),
      message: 'Users.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/list',
    config: { access: 'users.read' },
    schema: {
      summary: 'List users in pages',
      querystring: UserListQuery,
      response: { 200: UserListEnvelope },
    },
    handler: async (request) => ({
      data: await listUsers(deps, request.query, callerOf(request)),
      message: 'Users.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/order_by_created_at',
    config: { access: 'users.read' },
    schema: {
      summary: 'List users by creation time',
      querystring: UserByCreationQuery,
      response: { 200: UserListEnvelope },
    },
    handler: async (request) => ({
      data: await listUsers(deps, request.query, callerOf(request)),
      message: 'Users, sorted by creation time.',
    }),
  });
}

function ownRoutes(app: App, deps: UserAdminDeps): void {
  app.route({
    method: 'GET',
    url: '/me',
    config: { access: 'user', turn: false, openTo: ['password_change', 'second_factor'] },
    schema: {
      summary: 'Read your account',
      querystring: OwnUserQuery,
      response: { 200: UserEnvelope, 304: Type.Null() },
    },
    // The guard has already read the record with the token.
    handler: (request, reply) => {
      const { principal, graph } = personCallerOf(request);
      const view = request.query.permissions ?? 'all';
      const { tag, text } = userText(principal.record, graph, view, (data) =>
        serialized(reply, { data, message: 'Your account.' }),
      );
      // The version alone would not tell that a role has got another permission.
      sendUnlessKnown(request, reply, etagOfContent(principal.record.version, tag), text);
    },
  });

  app.route({
    method: 'PUT',
    url: '/me',
    config: {
      access: 'self.update_profile',
      invalidInput: 'invalid_input',
      errors: ['field_not_allowed', 'precondition_failed'],
    },
    schema: { summary: 'Change your names', body: UpdateMeBody, response: { 200: UserEnvelope } },
    handler: async (request, reply) => {
      const { record, version } = await updateMe(deps, userCallerOf(request), request.body);
      sendEtag(reply, version);
      return { data: record, message: 'Profile updated.' };
    },
  });
}

const changeErrors = [
  'user_not_found',
  'role_not_found',
  'invalid_email',
  'superuser_required',
  'acting_as',
  'privilege_escalation',
  'email_taken',
  'external_id_taken',
  'last_superuser',
] as const;

function recordRoutes(app: App, deps: UserAdminDeps): void {
  app.route({
    method: 'GET',
    url: '/:user_id',
    config: { access: 'users.read', errors: ['user_not_found'] },
    schema: { summary: 'Read a user', params: UserParams, response: { 200: UserEnvelope } },
    handler: async (request, reply) => {
      const { record, version } = await getVersionedUser(deps, request.params.user_id);
      sendEtag(reply, version);
      return { data: record, message: 'The user.' };
    },
  });

  app.route({
    method: 'POST',
    url: '',
    config: {
      access: 'users.create',
      idempotent: true,
      invalidInput: 'invalid_input',
      errors: [
        'invalid_email',
        'password_rejected',
        'role_not_found',
        'superuser_required',
        'privilege_escalation',
        'email_taken',
        'validation_failed',
        'user_attribute_taken',
        'external_id_taken',
      ],
      statedOf: {
        kind: 'user',
        present: newRecord({ permissions: [], invited_at: null, deletion_due_at: null }),
      },
    },
    schema: {
      summary: 'Create a user',
      description:
        'No mail is sent, also with `verified` false: the account waits until somebody sends the verification mail with `POST /users/{user_id}/resend-verification`, or sets `verified`. The clean-up does not remove it. Only a superuser can set `is_superuser`.',
      body: CreateUserBody,
      response: { 201: UserEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creation(
        request,
        reply,
        ({ record }: Versioned<User>) => ({ data: record, message: 'User created.' }),
        ({ version }) => version,
      );
      return answer(await createUser(deps, callerOf(request), request.body, settle));
    },
  });

  app.route({
    method: 'PUT',
    url: '/bulk-update',
    config: {
      access: 'users.update',
      body: bulkBody,
      invalidInput: 'invalid_input',
      errors: [...changeErrors, 'password_in_bulk'],
      statedOf: {
        kind: 'user',
        // Compared after validation.
        present: ({ body }) => presentUsers(deps, body as BulkUpdateUsersBody),
        refusedByItself: ['password'],
      },
    },
    schema: {
      summary: 'Change several users, all or none',
      description:
        'Changes all of the users or none. If one change is refused, `errors` names the users and the reasons.',
      querystring: DryRunQuery,
      body: BulkUpdateUsersBody,
      response: { 200: OrPreview(UsersEnvelope) },
    },
    handler: async (request) =>
      request.query.dry_run
        ? previewUserUpdates(deps, callerOf(request), request.body)
        : {
            data: await updateUsers(deps, callerOf(request), request.body),
            message: 'Users updated.',
          },
  });

  app.route({
    method: 'PUT',
    url: '/:user_id',
    config: {
      access: 'users.update',
      invalidInput: 'invalid_input',
      errors: [
        ...changeErrors,
        'use_change_password',
        'password_rejected',
        'rate_limited',
        'conflict',
        'precondition_failed',
      ],
      statedOf: { kind: 'user', present: recordNamed('user_id', (id) => getVersionedUser(deps, id)) },
    },
    schema: {
      summary: 'Change a user',
      description:
        'A new password, a new email, `is_active` false and `verified` false end every session of the user at once. These changes, and any other change of `is_active` or `verified`, also end mailed links. Change your own password with `change_password`. After 10 rejected passwords for one user within an hour, the response is 429. With `dry_run`, a password is neither hashed nor compared with the policy.',
      params: UserParams,
      querystring: DryRunQuery,
      body: UpdateUserBody,
      response: { 200: OrPreview(UserEnvelope) },
    },
    handler: async (request, reply) => {
      const { user_id } = request.params;
      if (request.query.dry_run) return previewUserUpdate(deps, callerOf(request), user_id, request.body);
      const { record, version } = await updateUser(deps, callerOf(request), user_id, request.body);
      sendEtag(reply, version);
      return { data: record, message: 'User updated.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:user_id',
    config: {
      access: 'users.delete',
      errors: [
        'user_not_found',
        'self_delete',
        'superuser_required',
        'acting_as',
        'privilege_escalation',
        'user_has_roles',
        'last_superuser',
        'precondition_failed',
      ],
    },
    schema: {
      summary: 'Delete a user',
      params: UserParams,
      querystring: DryRunQuery,
      response: { 200: OrPreview(UserEnvelope) },
    },
    handler: async (request) => {
      const { user_id } = request.params;
      if (request.query.dry_run) return previewUserDeletion(deps, callerOf(request), user_id);
      const user = await deleteUser(deps, callerOf(request), user_id);
      return { data: user, message: 'User deleted.' };
    },
  });
}

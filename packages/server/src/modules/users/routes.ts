// HTTP of /api/v1/users: lists, single records, and changes of them. What hangs on a user stands in access-routes.ts.
import {
  BulkUpdateUsersBody,
  CreateUserBody,
  UpdateMeBody,
  UpdateUserBody,
  UserByCreationQuery,
  UserEnvelope,
  UserListEnvelope,
  UserListQuery,
  UserParams,
  UsersEnvelope,
} from '@castellan/contract/users';
import { readIfMatch, sendEtag } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server.ts';
import { actorOf } from '../authz/guard.ts';
import { accessRoutes } from './access-routes.ts';
import { createUser, type UserAdminDeps, updateUser, updateUsers } from './administration.ts';
import { deleteUser } from './deletion.ts';
import { listUsers } from './listing.ts';
import { toUser } from './presentation.ts';
import { getVersionedUser, updateMe } from './service.ts';

export function userRoutes(app: App, deps: UserAdminDeps): void {
  listRoutes(app, deps);
  ownRoutes(app, deps);
  recordRoutes(app, deps);
  accessRoutes(app, deps);
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
    handler: async (request) => ({ data: await listUsers(deps, request.query), message: 'Users.' }),
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
    handler: async (request) => ({ data: await listUsers(deps, request.query), message: 'Users.' }),
  });

  app.route({
    method: 'GET',
    url: '/order_by_created_at',
    config: { access: 'users.read' },
    schema: {
      summary: 'List users by creation',
      querystring: UserByCreationQuery,
      response: { 200: UserListEnvelope },
    },
    handler: async (request) => ({
      data: await listUsers(deps, request.query),
      message: 'Users, by the time of their creation.',
    }),
  });
}

function ownRoutes(app: App, deps: UserAdminDeps): void {
  app.route({
    method: 'GET',
    url: '/me',
    config: { access: 'authenticated' },
    schema: { summary: 'Read the own account', response: { 200: UserEnvelope } },
    // The guard's own statement has read the record already.
    handler: async (request, reply) => {
      const actor = actorOf(request);
      sendEtag(reply, actor.version);
      return { data: toUser(actor, actor.graph), message: 'Your account.' };
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
    schema: { summary: 'Change the own names', body: UpdateMeBody, response: { 200: UserEnvelope } },
    handler: async (request, reply) => {
      const actor = actorOf(request);
      const { user, version } = await updateMe(
        deps,
        request.client,
        actor,
        request.body,
        readIfMatch(request),
      );
      sendEtag(reply, version);
      return { data: user, message: 'Profile updated.' };
    },
  });
}

const changeErrors = [
  'user_not_found',
  'role_not_found',
  'invalid_email',
  'superuser_required',
  'privilege_escalation',
  'email_taken',
  'last_superuser',
] as const;

function recordRoutes(app: App, deps: UserAdminDeps): void {
  app.route({
    method: 'GET',
    url: '/:user_id',
    config: { access: 'users.read', errors: ['user_not_found'] },
    schema: { summary: 'Read a user', params: UserParams, response: { 200: UserEnvelope } },
    handler: async (request, reply) => {
      const { user, version } = await getVersionedUser(deps, request.params.user_id);
      sendEtag(reply, version);
      return { data: user, message: 'The user.' };
    },
  });

  app.route({
    method: 'POST',
    url: '',
    config: {
      access: 'users.create',
      idempotent: true,
      invalidInput: 'invalid_input',
      errors: ['invalid_email', 'password_rejected', 'role_not_found', 'privilege_escalation', 'email_taken'],
    },
    schema: { summary: 'Create a verified user', body: CreateUserBody, response: { 201: UserEnvelope } },
    handler: async (request, reply) => {
      const { user, version } = await createUser(deps, request.client, actorOf(request), request.body);
      sendEtag(reply, version);
      reply.code(201);
      return { data: user, message: 'User created.' };
    },
  });

  app.route({
    method: 'PUT',
    url: '/bulk-update',
    config: {
      access: 'users.update',
      invalidInput: 'invalid_input',
      errors: [...changeErrors, 'password_in_bulk'],
    },
    schema: {
      summary: 'Change many users at once',
      description: 'All of them or none. A refusal names in `errors` the users at fault and why.',
      body: BulkUpdateUsersBody,
      response: { 200: UsersEnvelope },
    },
    handler: async (request) => ({
      data: await updateUsers(deps, request.client, actorOf(request), request.body),
      message: 'Users updated.',
    }),
  });

  app.route({
    method: 'PUT',
    url: '/:user_id',
    config: {
      access: 'users.update',
      invalidInput: 'invalid_input',
      errors: [...changeErrors, 'password_rejected', 'conflict', 'precondition_failed'],
    },
    schema: {
      summary: 'Change a user',
      description: 'A new password, or `is_active` false, ends every session of the user at once.',
      params: UserParams,
      body: UpdateUserBody,
      response: { 200: UserEnvelope },
    },
    handler: async (request, reply) => {
      const { user_id } = request.params;
      const ifMatch = readIfMatch(request);
      const { user, version } = await updateUser(
        deps,
        request.client,
        actorOf(request),
        user_id,
        request.body,
        ifMatch,
      );
      sendEtag(reply, version);
      return { data: user, message: 'User updated.' };
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
        'user_has_roles',
        'last_superuser',
        'precondition_failed',
      ],
    },
    schema: {
      summary: 'Delete a user without roles',
      params: UserParams,
      response: { 200: UserEnvelope },
    },
    handler: async (request) => {
      const { user_id } = request.params;
      const user = await deleteUser(deps, request.client, actorOf(request), user_id, readIfMatch(request));
      return { data: user, message: 'User deleted.' };
    },
  });
}

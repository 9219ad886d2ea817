// HTTP of what hangs on a user: roles, sessions, the lock, the mail that confirms the address.
import { MessageEnvelope } from '@castellan/contract/envelope';
import { SessionListEnvelope } from '@castellan/contract/sessions';
import {
  OptionalUserRolesBody,
  UserEnvelope,
  UserParams,
  UserRolesBody,
  UserRolesQuery,
  UserSessionParams,
} from '@castellan/contract/users';
import { canonicalIds } from '../../platform/http/ids.ts';
import { readIfMatch, sendEtag } from '../../platform/http/record-version.ts';
import type { App } from '../../platform/http/server.ts';
import { actorOf } from '../authz/guard.ts';
import { endSessionOf, endSessionsOf, listSessionsOf, resendVerification, unlockUser } from './access.ts';
import type { UserAdminDeps } from './administration.ts';
import { readRoleIds, roleIdsMissing } from './change-input.ts';
import { changeRoles } from './roles.ts';

export function accessRoutes(app: App, deps: UserAdminDeps): void {
  roleRoutes(app, deps);
  sessionRoutes(app, deps);
  accountRoutes(app, deps);
}

const roleErrors = ['user_not_found', 'role_not_found', 'superuser_required', 'precondition_failed'] as const;

function roleRoutes(app: App, deps: UserAdminDeps): void {
  app.route({
    method: 'POST',
    url: '/:user_id/roles',
    config: {
      access: 'user.update',
      invalidInput: 'invalid_input',
      errors: [...roleErrors, 'privilege_escalation'],
    },
    schema: {
      summary: 'Replace all roles of a user',
      params: UserParams,
      body: UserRolesBody,
      response: { 200: UserEnvelope },
    },
    handler: async (request, reply) => {
      const replace = readRoleIds(request.body);
      if (replace === undefined) throw roleIdsMissing('; an empty list takes all roles away');
      const { user, version } = await changeRoles(
        deps,
        request.client,
        actorOf(request),
        request.params.user_id,
        { replace },
        readIfMatch(request),
      );
      sendEtag(reply, version);
      return { data: user, message: 'Roles replaced.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:user_id/roles',
    config: {
      access: 'user.update',
      invalidInput: 'invalid_input',
      errors: [...roleErrors, 'invalid_input'],
    },
    schema: {
      summary: 'Take roles from a user',
      description: 'Ids stand in the query, in the body, or in both: then they are united.',
      params: UserParams,
      querystring: UserRolesQuery,
      body: OptionalUserRolesBody,
      response: { 200: UserEnvelope },
    },
    handler: async (request, reply) => {
      const remove = canonicalIds([...(readRoleIds(request.body) ?? []), ...(request.query.role_ids ?? [])]);
      if (remove.length === 0) throw roleIdsMissing(', in the query or in the body');
      const { user, version } = await changeRoles(
        deps,
        request.client,
        actorOf(request),
        request.params.user_id,
        { remove },
        readIfMatch(request),
      );
      sendEtag(reply, version);
      return { data: user, message: 'Roles removed.' };
    },
  });
}

function sessionRoutes(app: App, deps: UserAdminDeps): void {
  app.route({
    method: 'GET',
    url: '/:user_id/sessions',
    config: { access: 'users.update', errors: ['user_not_found'] },
    schema: {
      summary: 'List the live sessions of a user',
      params: UserParams,
      response: { 200: SessionListEnvelope },
    },
    handler: async (request) => ({
      data: await listSessionsOf(deps, actorOf(request), request.params.user_id),
      message: 'Live sessions, newest first.',
    }),
  });

  app.route({
    method: 'DELETE',
    url: '/:user_id/sessions',
    config: { access: 'users.update', errors: ['user_not_found', 'superuser_required'] },
    schema: { summary: 'End all sessions of a user', params: UserParams, response: { 200: MessageEnvelope } },
    handler: async (request) => {
      const ended = await endSessionsOf(deps, request.client, actorOf(request), request.params.user_id);
      return { message: `Sessions ended: ${ended}.` };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:user_id/sessions/:session_id',
    config: { access: 'users.update', errors: ['user_not_found', 'session_not_found', 'superuser_required'] },
    schema: {
      summary: 'End one session of a user',
      params: UserSessionParams,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      const { user_id, session_id } = request.params;
      await endSessionOf(deps, request.client, actorOf(request), user_id, session_id);
      return { message: 'Session ended.' };
    },
  });
}

function accountRoutes(app: App, deps: UserAdminDeps): void {
  app.route({
    method: 'POST',
    url: '/:user_id/unlock',
    config: { access: 'users.update', errors: ['user_not_found', 'superuser_required'] },
    schema: {
      summary: 'End the lock after failed logins',
      params: UserParams,
      response: { 200: UserEnvelope },
    },
    handler: async (request) => {
      const { user_id } = request.params;
      const { user, wasLocked } = await unlockUser(deps, request.client, actorOf(request), user_id);
      return { data: user, message: wasLocked ? 'User unlocked.' : 'The user was not locked.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/:user_id/resend-verification',
    config: {
      access: 'users.update',
      errors: ['user_not_found', 'superuser_required', 'already_verified', 'conflict'],
    },
    schema: {
      summary: 'Send the verification mail again',
      params: UserParams,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await resendVerification(deps, request.client, actorOf(request), request.params.user_id);
      return { message: 'The mail is on its way.' };
    },
  });
}

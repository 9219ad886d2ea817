// HTTP of a user's roles, sessions, lock and verification mail, for administrators.
import { DryRunQuery, OrPreview } from '@castellan/contract/access-changes';
import { PageQuery } from '@castellan/contract/common';
import { MessageEnvelope } from '@castellan/contract/envelope';
import { ActAsBody, ActingTokenEnvelope, SessionListEnvelope } from '@castellan/contract/sessions';
import {
  OptionalUserRolesBody,
  UserEnvelope,
  UserParams,
  UserRolesBody,
  UserRolesQuery,
  UserSessionParams,
} from '@castellan/contract/users';
import { canonicalIds } from '../../../platform/http/ids.ts';
import { sendEtag } from '../../../platform/http/record-version.ts';
import type { App } from '../../../platform/http/server/server.ts';
import { recordNamed, type StatedOf } from '../../authz/access-fields.ts';
import { callerOf, userCallerOf } from '../../authz/caller.ts';
import type { UserAdminDeps } from '../changes/administration.ts';
import { readRoleIds, roleIdsMissing } from '../changes/change-input.ts';
import { changeRoles, previewRoles } from '../changes/roles.ts';
import { getVersionedUser } from '../service.ts';
import {
  endSessionOf,
  endSessionsOf,
  listSessionsOf,
  resendVerification,
  unlockUser,
} from './account-security.ts';
import { type ActAsDeps, actAs } from './acting.ts';

export function accessRoutes(app: App, deps: ActAsDeps): void {
  roleRoutes(app, deps);
  sessionRoutes(app, deps);
  accountRoutes(app, deps);
  actingRoutes(app, deps);
}

const roleErrors = [
  'user_not_found',
  'role_not_found',
  'superuser_required',
  'acting_as',
  'privilege_escalation',
  'precondition_failed',
] as const;

const statedOfUser = (deps: UserAdminDeps): StatedOf => ({
  kind: 'user',
  present: recordNamed('user_id', (id) => getVersionedUser(deps, id)),
});

function roleRoutes(app: App, deps: UserAdminDeps): void {
  app.route({
    method: 'POST',
    url: '/:user_id/roles',
    config: {
      access: 'user.update',
      invalidInput: 'invalid_input',
      errors: [...roleErrors],
      statedOf: statedOfUser(deps),
    },
    schema: {
      summary: 'Replace all roles of a user',
      params: UserParams,
      querystring: DryRunQuery,
      body: UserRolesBody,
      response: { 200: OrPreview(UserEnvelope) },
    },
    handler: async (request, reply) => {
      const { user_id } = request.params;
      const replace = readRoleIds(request.body);
      if (replace === undefined) throw roleIdsMissing('; an empty list takes all roles away');
      if (request.query.dry_run) return previewRoles(deps, callerOf(request), user_id, { replace });
      const { record, version } = await changeRoles(deps, callerOf(request), user_id, { replace });
      sendEtag(reply, version);
      return { data: record, message: 'Roles replaced.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:user_id/roles',
    config: {
      access: 'user.update',
      invalidInput: 'invalid_input',
      errors: [...roleErrors, 'invalid_input'],
      statedOf: statedOfUser(deps),
    },
    schema: {
      summary: 'Remove roles from a user',
      description: 'Send the ids in the query, in the body, or in both; ids from both are combined.',
      params: UserParams,
      querystring: UserRolesQuery,
      body: OptionalUserRolesBody,
      response: { 200: OrPreview(UserEnvelope) },
    },
    handler: async (request, reply) => {
      const { user_id } = request.params;
      const remove = canonicalIds([...(readRoleIds(request.body) ?? []), ...(request.query.role_ids ?? [])]);
      if (remove.length === 0) throw roleIdsMissing(', in the query or in the body');
      if (request.query.dry_run) return previewRoles(deps, callerOf(request), user_id, { remove });
      const { record, version } = await changeRoles(deps, callerOf(request), user_id, { remove });
      sendEtag(reply, version);
      return { data: record, message: 'Roles removed.' };
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
      querystring: PageQuery,
      response: { 200: SessionListEnvelope },
    },
    handler: async (request) => ({
      ...(await listSessionsOf(deps, callerOf(request), request.params.user_id, request.query)),
      message: 'Live sessions, newest first.',
    }),
  });

  app.route({
    method: 'DELETE',
    url: '/:user_id/sessions',
    config: {
      access: 'users.update',
      errors: ['user_not_found', 'superuser_required', 'acting_as', 'privilege_escalation'],
    },
    schema: {
      summary: 'End all sessions of a user',
      description: 'Mailed links of the user end as well.',
      params: UserParams,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      const ended = await endSessionsOf(deps, callerOf(request), request.params.user_id);
      return { message: `Sessions ended: ${ended}.` };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:user_id/sessions/:session_id',
    config: {
      access: 'users.update',
      errors: [
        'user_not_found',
        'session_not_found',
        'superuser_required',
        'acting_as',
        'privilege_escalation',
      ],
    },
    schema: {
      summary: 'End one session of a user',
      params: UserSessionParams,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      const { user_id, session_id } = request.params;
      await endSessionOf(deps, callerOf(request), user_id, session_id);
      return { message: 'Session ended.' };
    },
  });
}

function actingRoutes(app: App, deps: ActAsDeps): void {
  app.route({
    method: 'POST',
    url: '/:user_id/act-as',
    config: {
      access: 'users.act_as',
      invalidInput: 'invalid_input',
      errors: [
        'user_not_found',
        'user_required',
        'superuser_required',
        'acting_as',
        'privilege_escalation',
        'validation_failed',
        'cannot_act_as_oneself',
        'conflict',
      ],
    },
    schema: {
      summary: 'Act as a user',
      description:
        'Makes an access token of the user for a while. It takes every permission of the user, and only a superuser acts as one. With the token, operations that change how the account is entered or what it is are 403 `acting_as`. It ends with your session, when the user or you lose access, and by a logout with it. The user is told by mail, unless `ACT_AS_MAIL` is off, and sees it among their sessions.',
      params: UserParams,
      body: ActAsBody,
      response: { 200: ActingTokenEnvelope },
    },
    handler: async (request) => ({
      data: await actAs(deps, userCallerOf(request), request.params.user_id, request.body),
      message: 'You act as this user.',
    }),
  });
}

function accountRoutes(app: App, deps: UserAdminDeps): void {
  app.route({
    method: 'POST',
    url: '/:user_id/unlock',
    config: {
      access: 'users.update',
      errors: ['user_not_found', 'superuser_required', 'acting_as', 'privilege_escalation'],
      statedOf: statedOfUser(deps),
    },
    schema: {
      summary: 'Unlock an account',
      description:
        'Ends the lock after wrong passwords, and opens an authenticator app that wrong codes closed. An app that was suspended stays suspended.',
      params: UserParams,
      response: { 200: UserEnvelope },
    },
    handler: async (request) => {
      const { user_id } = request.params;
      const { user, wasLocked } = await unlockUser(deps, callerOf(request), user_id);
      return { data: user, message: wasLocked ? 'User unlocked.' : 'The user was not locked.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/:user_id/resend-verification',
    config: {
      access: 'users.update',
      errors: [
        'user_not_found',
        'superuser_required',
        'acting_as',
        'privilege_escalation',
        'already_verified',
        'conflict',
        'rate_limited',
      ],
      statedOf: statedOfUser(deps),
    },
    schema: {
      summary: 'Send the verification mail again',
      description:
        'An email address gets at most as many mails as `ACCOUNT_EMAIL_LIMIT` allows. Beyond that, the response is 429.',
      params: UserParams,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await resendVerification(deps, callerOf(request), request.params.user_id);
      return { message: 'The mail is on its way.' };
    },
  });
}

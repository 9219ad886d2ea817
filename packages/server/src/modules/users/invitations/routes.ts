// HTTP of invitations, for administrators.
import {
  BulkInviteBody,
  BulkInviteEnvelope,
  BulkInviteInput,
  InviteBody,
} from '@castellan/contract/invitations';
import { type User, UserEnvelope, UserParams } from '@castellan/contract/users';
import { bulkBody } from '../../../platform/http/bodies/body-limits.ts';
import { compileSchema } from '../../../platform/http/bodies/validation.ts';
import { creation } from '../../../platform/http/plugins/idempotency.ts';
import type { Versioned } from '../../../platform/http/record-version.ts';
import type { App } from '../../../platform/http/server/server.ts';
import { newRecord, recordNamed, type StatedOf } from '../../authz/access-fields.ts';
import { callerOf } from '../../authz/caller.ts';
import { getVersionedUser } from '../service.ts';
import { type InviteDeps, invite, inviteMany } from './inviting.ts';
import { sendAgain, withdraw } from './open-invitations.ts';

// What an invited account is, until somebody changes it.
const invited: StatedOf = {
  kind: 'user',
  present: newRecord({
    is_active: true,
    is_superuser: false,
    must_change_password: false,
    deletion_due_at: null,
    permissions: [],
  }),
};

export function invitationRoutes(app: App, deps: InviteDeps): void {
  app.route({
    method: 'POST',
    url: '/invitations',
    config: {
      access: 'users.create',
      idempotent: true,
      invalidInput: 'invalid_input',
      errors: [
        'invalid_email',
        'role_not_found',
        'privilege_escalation',
        'email_taken',
        'validation_failed',
        'user_attribute_taken',
      ],
      statedOf: invited,
    },
    schema: {
      summary: 'Invite a user',
      description:
        'Creates an account without a password, and mails a link by which its owner chooses one. Until then nobody can sign in to it. The clean-up does not remove it.',
      body: InviteBody,
      response: { 201: UserEnvelope },
    },
    handler: async (request, reply) => {
      const { settle, answer } = creation(
        request,
        reply,
        ({ record }: Versioned<User>) => ({ data: record, message: 'User invited. The mail is on its way.' }),
        ({ version }) => version,
      );
      return answer(await invite(deps, callerOf(request), request.body, settle));
    },
  });

  app.route({
    method: 'POST',
    url: '/invitations/bulk',
    config: {
      access: 'users.create',
      body: bulkBody,
      invalidInput: 'invalid_input',
      statedOf: invited,
    },
    schema: {
      summary: 'Invite several users',
      description:
        'Each row is invited whole or not at all, and none stops another. `refused` says why a row was not. An email address that comes twice is refused at its second row.',
      body: BulkInviteBody,
      response: { 200: BulkInviteEnvelope },
    },
    validatorCompiler: (route) => compileSchema({ ...route, schema: BulkInviteInput }),
    handler: async (request) => {
      const data = await inviteMany(deps, callerOf(request), request.body);
      return { data, message: `Invited: ${data.invited.length}. Refused: ${data.refused.length}.` };
    },
  });

  const stated: StatedOf = {
    kind: 'user',
    present: recordNamed('user_id', (id) => getVersionedUser(deps, id)),
  };
  app.route({
    method: 'POST',
    url: '/:user_id/invitation',
    config: {
      access: 'users.update',
      errors: [
        'user_not_found',
        'superuser_required',
        'acting_as',
        'privilege_escalation',
        'not_invited',
        'conflict',
        'rate_limited',
      ],
      statedOf: stated,
    },
    schema: {
      summary: 'Send an invitation again',
      description:
        'The earlier link ends. An email address gets at most as many invitations as `ACCOUNT_EMAIL_LIMIT` allows. Beyond that, the response is 429.',
      params: UserParams,
      response: { 200: UserEnvelope },
    },
    handler: async (request) => ({
      data: await sendAgain(deps, callerOf(request), request.params.user_id),
      message: 'The mail is on its way.',
    }),
  });

  app.route({
    method: 'DELETE',
    url: '/:user_id/invitation',
    config: {
      access: 'users.delete',
      errors: [
        'user_not_found',
        'superuser_required',
        'acting_as',
        'privilege_escalation',
        'precondition_failed',
        'not_invited',
      ],
    },
    schema: {
      summary: 'Withdraw an invitation',
      description: 'Removes the account with its roles. An accepted invitation cannot be withdrawn.',
      params: UserParams,
      response: { 200: UserEnvelope },
    },
    handler: async (request) => ({
      data: await withdraw(deps, callerOf(request), request.params.user_id),
      message: 'Invitation withdrawn.',
    }),
  });
}

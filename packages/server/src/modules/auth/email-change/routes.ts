// HTTP of changes of one's own email address: the request, under /api/v1/users, and both links, under /api/v1/auth.
import { ChangeEmailBody, EmailLinkBody } from '@castellan/contract/auth';
import { MessageEnvelope } from '@castellan/contract/envelope';
import type { App } from '../../../platform/http/server/server.ts';
import { userCallerOf } from '../../authz/caller.ts';
import { confirmEmailChange } from './confirming.ts';
import { type EmailChangeDeps, requestEmailChange } from './requesting.ts';
import { undoEmailChange } from './undoing.ts';

/** Under /api/v1/users. */
export function ownEmailRoutes(app: App, deps: EmailChangeDeps): void {
  app.route({
    method: 'POST',
    url: '/me/email',
    config: {
      access: 'user',
      invalidInput: 'invalid_input',
      errors: [
        'invalid_email',
        'no_password',
        'wrong_current_password',
        'account_locked',
        'provider_required',
        'step_up_required',
        'rate_limited',
        'overloaded',
      ],
    },
    schema: {
      summary: 'Change your email address',
      description:
        'Mails a link to the new address, which works once, for 24 hours, and tells the present address of it. The answer is the same whether or not an account has the new address. Nothing changes until the link is used. A newer request replaces the link, and what ends all sessions, such as a new password, ends it.',
      body: ChangeEmailBody,
      response: { 202: MessageEnvelope },
    },
    handler: async (request, reply) => {
      await requestEmailChange(deps, userCallerOf(request), request.body);
      reply.code(202);
      return { message: 'If the new email address can be used, a mail with a link is on its way to it.' };
    },
  });
}

/** Under /api/v1/auth. */
export function emailLinkRoutes(app: App, deps: EmailChangeDeps): void {
  app.route({
    method: 'POST',
    url: '/confirm-email-change',
    config: {
      access: 'public',
      errors: ['email_change_token_invalid', 'email_taken', 'provider_required', 'overloaded'],
    },
    schema: {
      summary: 'Confirm a new email address',
      description:
        'Requires the token of the mail. Ends every session but the one that requested the change, and the other mailed links of the account. The former address gets a link that undoes the change, for seven days.',
      body: EmailLinkBody,
      response: { 200: MessageEnvelope },
    },
    handler: async ({ client, body }) => {
      await confirmEmailChange(deps, client, body.token);
      return { message: 'Email address changed. Sign in with the new one from now on.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/revert-email-change',
    config: { access: 'public', errors: ['email_undo_token_invalid', 'email_taken', 'overloaded'] },
    schema: {
      summary: 'Undo a change of the email address',
      description:
        'Requires the token of the mail to the former address, which comes back, whatever the address was changed to since. Ends every session, the password, and the factors and identities that were added since the change was requested. A mail to the address has the link that sets a new password.',
      body: EmailLinkBody,
      response: { 200: MessageEnvelope },
    },
    handler: async ({ client, body }) => {
      await undoEmailChange(deps, client, body.token);
      return {
        message:
          'The former email address is back, and everybody is signed out. Set a new password with the mail that is on its way.',
      };
    },
  });
}

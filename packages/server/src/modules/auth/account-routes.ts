// HTTP of registration and of mailed links, under /api/v1/auth. The rules are in the other files of this folder.
import {
  CheckLinkBody,
  DeclineRegistrationBody,
  EmailBody,
  LinkStateEnvelope,
  PasswordPolicyEnvelope,
  RegisterBody,
  ResetConfirmBody,
  VerifyEmailBody,
} from '@castellan/contract/auth';
import { MessageEnvelope } from '@castellan/contract/envelope';
import { UserEnvelope } from '@castellan/contract/users';
import type { App } from '../../platform/http/server/server.ts';
import type { RateLimitRule } from '../../platform/limits/rate-limit.ts';
import { policyInForce } from '../passwords/service.ts';
import { type InvitationRouteDeps, invitationRoutes } from './invitations/routes.ts';
import type { LoginDeps } from './login.ts';
import { checkLink, declineRegistration, verifyEmailWithPassword } from './mailed-links.ts';
import { confirmPasswordReset, requestPasswordReset } from './password-change.ts';
import { type RegistrationDeps, register, resendVerification, verifyEmail } from './registration.ts';

export type AccountDeps = LoginDeps &
  RegistrationDeps &
  InvitationRouteDeps & {
    settings: {
      rateLimitRegister: RateLimitRule | null;
      rateLimitPasswordReset: RateLimitRule | null;
      rateLimitResendVerification: RateLimitRule | null;
      rateLimitLinkCheck: RateLimitRule | null;
    };
  };

const RESEND_ANSWER = 'If this email address has an unverified account, a mail with a link is on its way.';
const RESET_ANSWER = 'If this email address has an active account, a mail with a link is on its way.';

export function accountRoutes(app: App, deps: AccountDeps): void {
  const { settings } = deps;

  app.route({
    method: 'GET',
    url: '/password-policy',
    config: { access: 'public' },
    schema: {
      summary: 'Read the password policy',
      description:
        'A new password must meet every rule. The first password of an account has no history. A rule that the settings turn off is left out.',
      response: { 200: PasswordPolicyEnvelope },
    },
    handler: () => ({ data: policyInForce(deps), message: 'The password policy.' }),
  });

  app.route({
    method: 'POST',
    url: '/register',
    config: {
      access: 'public',
      limit: { name: 'register', rule: settings.rateLimitRegister },
      invalidInput: 'invalid_input',
      errors: [
        'invalid_email',
        'password_rejected',
        'registration_refused',
        'email_taken',
        'provider_required',
        'overloaded',
      ],
    },
    schema: { summary: 'Register an account', body: RegisterBody, response: { 201: UserEnvelope } },
    handler: async (request, reply) => {
      const user = await register(deps, request.client, request.body);
      reply.code(201);
      return {
        data: user,
        message: 'Account created. Follow the link in the mail to verify the email address.',
      };
    },
  });

  app.route({
    method: 'POST',
    url: '/verify-email',
    config: {
      access: 'public',
      errors: [
        'verification_token_invalid',
        'already_verified',
        'password_rejected',
        'conflict',
        'rate_limited',
        'overloaded',
      ],
    },
    schema: { summary: 'Verify an email address', body: VerifyEmailBody, response: { 200: UserEnvelope } },
    handler: async ({ client, body: { token, new_password } }) => ({
      data:
        new_password === undefined
          ? await verifyEmail(deps, client, token)
          : await verifyEmailWithPassword(deps, client, token, new_password),
      message: 'Email address verified. You can sign in now.',
    }),
  });

  app.route({
    method: 'POST',
    url: '/registration/decline',
    config: {
      access: 'public',
      errors: ['verification_token_invalid', 'already_verified', 'registration_not_pending', 'overloaded'],
    },
    schema: {
      summary: 'Decline a registration made by somebody else',
      description:
        'Requires the token of the verification mail. Removes the account; its email address can be registered again.',
      body: DeclineRegistrationBody,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await declineRegistration(deps, request.client, request.body.token);
      return { message: 'The account was removed.' };
    },
  });

  invitationRoutes(app, deps);

  app.route({
    method: 'POST',
    url: '/links/check',
    config: { access: 'public', limit: { name: 'link-check', rule: settings.rateLimitLinkCheck } },
    schema: {
      summary: 'Check whether a mailed link still works',
      description:
        'Does not use the link up. Lets a page report an invalid link before anyone types a password, and name the account to password managers.',
      body: CheckLinkBody,
      response: { 200: LinkStateEnvelope },
    },
    handler: async (request) => {
      const data = await checkLink(deps, request.body);
      return { data, message: data.valid ? 'The link works.' : 'The link does not work.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/resend-verification-email',
    config: {
      access: 'public',
      limit: { name: 'resend-verification', rule: settings.rateLimitResendVerification },
      errors: ['invalid_email'],
    },
    schema: {
      summary: 'Send the verification mail again',
      body: EmailBody,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await resendVerification(deps, request.client, request.body.email);
      return { message: RESEND_ANSWER };
    },
  });

  app.route({
    method: 'POST',
    url: '/password-reset/request',
    config: {
      access: 'public',
      limit: { name: 'password-reset', rule: settings.rateLimitPasswordReset },
      errors: ['invalid_email', 'provider_required'],
    },
    schema: {
      summary: 'Request a password reset mail',
      body: EmailBody,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await requestPasswordReset(deps, request.client, request.body.email);
      return { message: RESET_ANSWER };
    },
  });

  app.route({
    method: 'POST',
    url: '/password-reset/confirm',
    config: {
      access: 'public',
      errors: ['reset_token_invalid', 'password_rejected', 'conflict', 'rate_limited', 'overloaded'],
    },
    schema: {
      summary: 'Set a new password with a mailed token',
      body: ResetConfirmBody,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await confirmPasswordReset(deps, request.client, request.body);
      return { message: 'Password set. Every session has ended. Sign in with the new password.' };
    },
  });
}

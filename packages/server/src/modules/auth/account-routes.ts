// HTTP of opening an account and of the links in mails, under /api/v1/auth. The rules stand in the files beside.
import { EmailBody, RegisterBody, ResetConfirmBody, VerifyEmailBody } from '@castellan/contract/auth';
import { MessageEnvelope } from '@castellan/contract/envelope';
import { UserEnvelope } from '@castellan/contract/users';
import type { App } from '../../platform/http/server.ts';
import type { RateLimitRule } from '../../platform/limits/rate-limit.ts';
import type { LoginDeps } from './login.ts';
import { confirmPasswordReset, requestPasswordReset } from './password-change.ts';
import { type RegistrationDeps, register, resendVerification, verifyEmail } from './registration.ts';

export type AccountDeps = LoginDeps &
  RegistrationDeps & {
    settings: {
      rateLimitRegister: RateLimitRule | null;
      rateLimitPasswordReset: RateLimitRule | null;
      rateLimitResendVerification: RateLimitRule | null;
    };
  };

const RESEND_ANSWER = 'If this address has an unverified account, a mail with a link is on its way.';
const RESET_ANSWER = 'If this address has an active account, a mail with a link is on its way.';

export function accountRoutes(app: App, deps: AccountDeps, bodyLimit: number): void {
  const { settings } = deps;

  app.route({
    method: 'POST',
    url: '/register',
    bodyLimit,
    config: {
      access: 'public',
      limit: { name: 'register', rule: settings.rateLimitRegister },
      invalidInput: 'invalid_input',
      errors: ['invalid_email', 'password_rejected', 'registration_refused', 'email_taken', 'overloaded'],
    },
    schema: { summary: 'Open an account', body: RegisterBody, response: { 201: UserEnvelope } },
    handler: async (request, reply) => {
      const user = await register(deps, request.client, request.body);
      reply.code(201);
      return { data: user, message: 'Account opened. Follow the link in the mail to verify the address.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/verify-email',
    bodyLimit,
    config: { access: 'public', errors: ['verification_token_invalid', 'already_verified'] },
    schema: { summary: 'Confirm an e-mail address', body: VerifyEmailBody, response: { 200: UserEnvelope } },
    handler: async (request) => ({
      data: await verifyEmail(deps, request.client, request.body.token),
      message: 'E-mail address verified. You can sign in now.',
    }),
  });

  app.route({
    method: 'POST',
    url: '/resend-verification-email',
    bodyLimit,
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
    bodyLimit,
    config: {
      access: 'public',
      limit: { name: 'password-reset', rule: settings.rateLimitPasswordReset },
      errors: ['invalid_email'],
    },
    schema: {
      summary: 'Ask for a mail to set a new password',
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
    bodyLimit,
    config: {
      access: 'public',
      errors: ['reset_token_invalid', 'password_rejected', 'conflict', 'overloaded'],
    },
    schema: {
      summary: 'Set a new password with the mailed token',
      body: ResetConfirmBody,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await confirmPasswordReset(deps, request.client, request.body);
      return { message: 'Password set. Every session has ended; sign in with the new password.' };
    },
  });
}

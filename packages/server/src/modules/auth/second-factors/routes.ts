// HTTP of the second step of a sign-in, of step-up and of a person's own factors, under /api/v1/auth.
import { LoginEnvelope } from '@castellan/contract/auth';
import { MessageEnvelope } from '@castellan/contract/envelope';
import {
  ChangedFactorsEnvelope,
  ConfirmTotpBody,
  FactorsEnvelope,
  RecoveryCodesEnvelope,
  RecoveryMailBody,
  SecondFactorBody,
  SteppedUpEnvelope,
  StepUpBody,
  StepUpOptionsBody,
  StepUpOptionsEnvelope,
  TotpEnrolmentEnvelope,
} from '@castellan/contract/factors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { overLimit } from '../../../platform/http/plugins/rate-limits.ts';
import type { App } from '../../../platform/http/server/server.ts';
import { recordBounded } from '../../audit/service.ts';
import { type UserCaller, userCallerOf } from '../../authz/caller.ts';
import { BROWSER_COOKIE } from '../../sessions/browser/cookie.ts';
import { DEVICE_COOKIE, visitorOf } from '../devices/cookie.ts';
import { signedInOr } from '../login.ts';
import { REFRESH_COOKIE } from '../refresh-cookie.ts';
import type { Changed } from './changes.ts';
import { beginTotp, confirmTotp, removeTotp, renewRecoveryCodes } from './enrolment.ts';
import { passkeyRoutes } from './passkeys/routes.ts';
import { readFactors } from './presentation.ts';
import { factorRule } from './proofs.ts';
import { mailRecoveryLink } from './recovery.ts';
import type { Issue, SecondFactorRouteDeps } from './route-deps.ts';
import { completeSignIn } from './second-step.ts';
import { stepUp, stepUpOptions } from './step-up.ts';

const proofRefusals = [
  'second_factor_invalid',
  'code_already_used',
  'second_factor_locked',
  'passkey_unknown',
  'passkey_refused',
  'overloaded',
] as const;

export function secondFactorRoutes(app: App, deps: SecondFactorRouteDeps, issue: Issue): void {
  const { settings } = deps;
  /** Returns the caller. Throws `rate_limited` (429). */
  const countedCallerOf = async (request: FastifyRequest): Promise<UserCaller> => {
    const caller = userCallerOf(request);
    const { principal, client } = caller;
    const counted = await deps.limiter.hit(`factors|session:${principal.session.id}`, factorRule);
    if (counted.allowed) return caller;
    await recordBounded(deps, client, {
      action: 'rate_limited',
      actorId: principal.id,
      resourceId: principal.id,
      details: { email: principal.email, limit: 'factors' },
    });
    throw overLimit(counted);
  };

  const changed = (reply: FastifyReply, { tokens, factors, recoveryCodes }: Changed) => ({
    factors,
    ...(recoveryCodes ? { recovery_codes: recoveryCodes } : {}),
    ...issue(reply, tokens),
  });

  passkeyRoutes(app, deps, {
    visitorOf: (request) => visitorOf(request, deps),
    countedCallerOf,
    changed,
    issue,
  });

  app.route({
    method: 'POST',
    url: '/login/second-factor',
    config: {
      access: 'public',
      cookies: { reads: [DEVICE_COOKIE], sets: [REFRESH_COOKIE, BROWSER_COOKIE, DEVICE_COOKIE] },
      limit: { name: 'second-factor', rule: settings.rateLimitSecondFactor },
      errors: ['sign_in_expired', ...proofRefusals],
    },
    schema: {
      summary: 'Complete a sign-in with a second factor',
      description:
        'After `second_factor_required`, from the same browser. A sign-in takes five wrong codes, ten tries and ten minutes.',
      body: SecondFactorBody,
      response: { 200: LoginEnvelope },
    },
    handler: async (request, reply) => {
      const outcome = await completeSignIn(deps, visitorOf(request, deps), request.body);
      const { user, secondFactor, ...tokens } = signedInOr(outcome);
      const notice = secondFactor ? { second_factor: secondFactor } : {};
      return { data: { ...issue(reply, tokens), user, ...notice }, message: 'Signed in.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/login/recovery-mail',
    config: {
      access: 'public',
      limit: { name: 'recovery-mail', rule: settings.rateLimitPasswordReset },
      errors: ['sign_in_expired'],
    },
    schema: {
      summary: 'Send the recovery link again',
      description:
        'After `second_factor_required` with the method `recovery_link`, from the same browser. Ends the earlier link. Sends nothing if an administrator hands over the link, or beyond `ACCOUNT_EMAIL_LIMIT`.',
      body: RecoveryMailBody,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await mailRecoveryLink(deps, visitorOf(request, deps), request.body.token);
      return { message: 'If this account awaits recovery, a mail with a link is on its way.' };
    },
  });

  app.route({
    method: 'GET',
    url: '/factors',
    config: { access: 'user', openTo: ['second_factor'] },
    schema: { summary: 'Read your second factors', response: { 200: FactorsEnvelope } },
    handler: async (request) => {
      const { principal } = userCallerOf(request);
      const data = await readFactors(deps, principal.record, principal.session.context);
      return { data, message: 'Your second factors.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/factors/totp',
    config: { access: 'user', openTo: ['second_factor'], fresh: true, errors: ['conflict', 'rate_limited'] },
    schema: {
      summary: 'Begin to set up an authenticator app',
      description:
        'One at a time, for ten minutes, in this session. An app that is set up already works until the new one is confirmed.',
      response: { 201: TotpEnrolmentEnvelope },
    },
    handler: async (request, reply) => {
      const data = await beginTotp(deps, await countedCallerOf(request));
      reply.code(201);
      return { data, message: 'Enter the secret into the app, then confirm with a code of it.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/factors/totp/confirm',
    config: {
      access: 'user',
      openTo: ['second_factor'],
      fresh: true,
      cookies: { sets: [REFRESH_COOKIE, BROWSER_COOKIE] },
      errors: ['second_factor_invalid', 'enrolment_expired', 'conflict', 'rate_limited', 'overloaded'],
    },
    schema: {
      summary: 'Confirm the authenticator app with a code',
      description:
        'The first factor of an account makes its recovery codes, and ends every other session, all trust in devices and every sign-in that waits. The code is used up.',
      body: ConfirmTotpBody,
      response: { 200: ChangedFactorsEnvelope },
    },
    handler: async (request, reply) => {
      const outcome = await confirmTotp(deps, await countedCallerOf(request), request.body.totp);
      return { data: changed(reply, outcome), message: 'The authenticator app is set up.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/factors/totp',
    config: {
      access: 'user',
      openTo: ['second_factor'],
      fresh: true,
      cookies: { sets: [REFRESH_COOKIE, BROWSER_COOKIE] },
      errors: ['factor_not_found', 'last_factor', 'rate_limited'],
    },
    schema: {
      summary: 'Remove your authenticator app',
      description:
        'Ends every other session, all trust in devices and every sign-in that waits. With the last factor, the recovery codes go.',
      response: { 200: ChangedFactorsEnvelope },
    },
    handler: async (request, reply) => ({
      data: changed(reply, await removeTotp(deps, await countedCallerOf(request))),
      message: 'The authenticator app is removed.',
    }),
  });

  app.route({
    method: 'POST',
    url: '/factors/recovery-codes',
    config: {
      access: 'user',
      openTo: ['second_factor'],
      fresh: true,
      errors: ['no_factor', 'rate_limited', 'overloaded'],
    },
    schema: {
      summary: 'Make new recovery codes',
      description: 'The former codes end. The new ones are shown here once.',
      response: { 201: RecoveryCodesEnvelope },
    },
    handler: async (request, reply) => {
      const codes = await renewRecoveryCodes(deps, await countedCallerOf(request));
      reply.code(201);
      return { data: { recovery_codes: codes }, message: 'Keep these codes in a safe place.' };
    },
  });

  app.route({
    method: 'POST',
    url: '/step-up/options',
    config: {
      access: 'user',
      openTo: ['second_factor'],
      errors: ['second_factor_enrolment_required', 'no_password', 'rate_limited'],
    },
    schema: {
      summary: 'Read how you can confirm that it is you',
      body: StepUpOptionsBody,
      response: { 200: StepUpOptionsEnvelope },
    },
    handler: async (request) => ({
      data: await stepUpOptions(deps, await countedCallerOf(request), request.body),
      message: 'Confirm in one of these ways.',
    }),
  });

  app.route({
    method: 'POST',
    url: '/step-up',
    config: {
      access: 'user',
      openTo: ['second_factor'],
      cookies: { sets: [REFRESH_COOKIE, BROWSER_COOKIE] },
      errors: [...proofRefusals, 'wrong_current_password', 'no_password', 'account_locked', 'rate_limited'],
    },
    schema: {
      summary: 'Confirm that it is you',
      description:
        'Returns new tokens of the same session that carry the proof (`acr`, `amr`, `auth_time`). Earlier tokens keep theirs. An account with a second factor confirms with it, never with the password alone.',
      body: StepUpBody,
      response: { 200: SteppedUpEnvelope },
    },
    handler: async (request, reply) => {
      const { tokens, context } = await stepUp(deps, await countedCallerOf(request), request.body);
      const { acr, authTime } = context;
      return {
        data: { ...issue(reply, tokens), acr, auth_time: authTime.toISOString() },
        message: 'Confirmed.',
      };
    },
  });
}

// HTTP of personal access tokens: your own, and those of a user, under /api/v1/users.
import { MessageEnvelope } from '@castellan/contract/envelope';
import {
  CreatePersonalTokenBody,
  NewPersonalTokenEnvelope,
  PersonalTokenParams,
  PersonalTokensEnvelope,
  UserPersonalTokenParams,
} from '@castellan/contract/personal-tokens';
import { UserParams } from '@castellan/contract/users';
import type { App } from '../../platform/http/server/server.ts';
import { callerOf, personCallerOf, userCallerOf } from '../authz/caller.ts';
import {
  createToken,
  endOwnToken,
  endTokenOf,
  listTokens,
  listTokensOf,
  type PersonalTokenDeps,
} from './service.ts';

/** Under /api/v1/users. */
export function personalTokenRoutes(app: App, deps: PersonalTokenDeps): void {
  ownRoutes(app, deps);
  userTokenRoutes(app, deps);
}

function ownRoutes(app: App, deps: PersonalTokenDeps): void {
  app.route({
    method: 'GET',
    url: '/me/tokens',
    config: { access: 'user', endsAccess: true },
    schema: {
      summary: 'List your personal access tokens',
      description: 'Newest first, without the tokens themselves. Tokens that have ended are not listed.',
      response: { 200: PersonalTokensEnvelope },
    },
    handler: async (request) => ({
      data: await listTokens(deps, personCallerOf(request).principal.id),
      message: 'Your personal access tokens, newest first.',
    }),
  });

  app.route({
    method: 'POST',
    url: '/me/tokens',
    config: {
      access: 'user',
      errors: [
        'personal_tokens_off',
        'step_up_required',
        'wrong_current_password',
        'no_password',
        'account_locked',
        'privilege_escalation',
        'permission_not_found',
        'too_many_tokens',
      ],
    },
    schema: {
      summary: 'Make a personal access token',
      description:
        'The response shows the token, and nothing shows it again. A program that sends it acts as you, with at most the permissions of the token. Needs a sign-in or a step-up of the last `STEP_UP_MAX_AGE` minutes, or `current_password`.',
      body: CreatePersonalTokenBody,
      response: { 201: NewPersonalTokenEnvelope },
    },
    handler: async (request, reply) => {
      const data = await createToken(deps, userCallerOf(request), request.body);
      reply.code(201);
      return { data, message: 'Personal access token made. Store it now.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/me/tokens/:token_id',
    config: { access: 'user', endsAccess: true, errors: ['personal_token_not_found'] },
    schema: {
      summary: 'End one of your personal access tokens',
      description: 'It is refused from the next request on.',
      params: PersonalTokenParams,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await endOwnToken(deps, userCallerOf(request), request.params.token_id);
      return { message: 'Personal access token ended.' };
    },
  });
}

function userTokenRoutes(app: App, deps: PersonalTokenDeps): void {
  app.route({
    method: 'GET',
    url: '/:user_id/tokens',
    config: { access: 'session.read', errors: ['user_not_found'] },
    schema: {
      summary: 'List the personal access tokens of a user',
      description: 'Newest first, without the tokens themselves. Tokens that have ended are not listed.',
      params: UserParams,
      response: { 200: PersonalTokensEnvelope },
    },
    handler: async (request) => ({
      data: await listTokensOf(deps, request.params.user_id),
      message: 'Personal access tokens, newest first.',
    }),
  });

  app.route({
    method: 'DELETE',
    url: '/:user_id/tokens/:token_id',
    config: {
      access: 'session.revoke',
      errors: [
        'user_not_found',
        'personal_token_not_found',
        'superuser_required',
        'acting_as',
        'privilege_escalation',
      ],
    },
    schema: {
      summary: 'End a personal access token of a user',
      description: 'It is refused from the next request on. Mailed links of the user end as well.',
      params: UserPersonalTokenParams,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      const { user_id: userId, token_id: tokenId } = request.params;
      await endTokenOf(deps, callerOf(request), { userId, tokenId });
      return { message: 'Personal access token ended.' };
    },
  });
}

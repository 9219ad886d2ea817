// HTTP of userinfo, under /api/v1/oauth. It takes the access token of an application, in a header or a form.
import { Userinfo, UserinfoRequest } from '@castellan/contract/openid-tokens';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../platform/errors.ts';
import { publicBody } from '../../platform/http/bodies/body-limits.ts';
import type { App } from '../../platform/http/server/server.ts';
import { allowOrigin } from '../applications/allowed-origins.ts';
import { type ApplicationTokenDeps, userinfoOf } from '../openid/tokens/service.ts';
import { type KeyProof, keyChallenge, proofIn, readKeyProof } from '../proofs/service.ts';
import { bearerToken } from '../sessions/service.ts';
import { userinfoErrors } from './error-shape.ts';

const userinfo = {
  tags: ['OAuth'],
  summary: 'Read the claims about the user of an access token',
  response: { 200: Userinfo },
};
const userinfoConfig = {
  access: 'public',
  csrf: false,
  errorShape: userinfoErrors,
  errors: ['invalid_token', 'insufficient_scope', 'rate_limited'],
} as const;

type UserinfoDeps = ApplicationTokenDeps & { settings: { publicUrl: string } };

export function userinfoRoutes(app: App, deps: UserinfoDeps): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply, inForm: string | undefined) => {
    const { text, isBound } = accessTokenIn(request, inForm);
    return userinfoOf(
      deps,
      request.client,
      text,
      (application) => allowOrigin(request, reply, application),
      isBound ? () => userinfoProof(deps, request, text) : null,
    );
  };

  app.route({
    method: 'GET',
    url: '/userinfo',
    config: userinfoConfig,
    schema: {
      ...userinfo,
      description:
        'OpenID Connect Core, 5.3. Send the access token of an application in the Authorization header. The claims are those of its ' +
        'scopes, read now.',
    },
    handler: (request, reply) => answer(request, reply, undefined),
  });

  app.route({
    method: 'POST',
    url: '/userinfo',
    config: { ...userinfoConfig, form: true, body: publicBody },
    schema: {
      ...userinfo,
      description: 'As GET. The access token may also be in the form.',
      body: UserinfoRequest,
    },
    handler: (request, reply) => answer(request, reply, request.body.access_token),
  });
}

/** Returns the verified DPoP proof of a request with this access token. Throws `invalid_token` (401). */
async function userinfoProof(
  deps: UserinfoDeps,
  { headers, method }: FastifyRequest,
  accessToken: string,
): Promise<KeyProof> {
  const text = proofIn(headers);
  const proof =
    text &&
    (await readKeyProof(deps.settings, text, { method, path: '/api/v1/oauth/userinfo', accessToken }));
  if (!proof)
    throw new AppError('invalid_token', {
      detail: 'The DPoP proof is missing, or is not of this request and this access token.',
      headers: keyChallenge,
    });
  return proof;
}

/**
 * Returns the access token of a request (RFC 6750, 2; RFC 9449, 7.1). `isBound`: it is sent as one that a key is needed for. Throws 400 for
 * two, 401 for none.
 */
function accessTokenIn(
  { headers }: FastifyRequest,
  inForm: string | undefined,
): { text: string; isBound: boolean } {
  const { authorization } = headers;
  if (authorization === undefined) {
    if (inForm === undefined) throw new AppError('token_missing');
    return { text: inForm, isBound: false };
  }
  if (inForm !== undefined)
    throw new AppError('invalid_request', {
      detail: 'Send the access token once: in the Authorization header or as access_token.',
    });
  const bound = /^dpop +([^\s]+)$/i.exec(authorization)?.[1];
  const text = bound ?? bearerToken(authorization);
  if (text === undefined) throw new AppError('invalid_token');
  return { text, isBound: bound !== undefined };
}

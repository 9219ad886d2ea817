// HTTP of passkeys and security keys, under /api/v1/auth: sign-in by a passkey alone, and a person's own ones.
import { LoginEnvelope } from '@castellan/contract/auth';
import {
  AddedPasskeyEnvelope,
  type ChangedFactors,
  ChangedFactorsEnvelope,
} from '@castellan/contract/factors';
import {
  NewPasskeyBody,
  NewPasskeyOptionsBody,
  NewPasskeyOptionsEnvelope,
  PasskeyEnvelope,
  PasskeyParams,
  RelatedOrigins,
  RenamePasskeyBody,
  SignInMethodsEnvelope,
  SignInPasskeyBody,
  SignInPasskeyOptionsBody,
  SignInPasskeyOptionsEnvelope,
} from '@castellan/contract/passkeys';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../../platform/errors.ts';
import { hook } from '../../../../platform/http/hooks.ts';
import type { App } from '../../../../platform/http/server/server.ts';
import type { PasskeySite } from '../../../../platform/security/factors/passkey-site.ts';
import type { UserCaller } from '../../../authz/caller.ts';
import { BROWSER_COOKIE } from '../../../sessions/browser/cookie.ts';
import { DEVICE_COOKIE, type Visitor } from '../../devices/cookie.ts';
import { signedInOr } from '../../login.ts';
import { REFRESH_COOKIE } from '../../refresh-cookie.ts';
import type { Changed } from '../changes.ts';
import { readAssertion } from '../proofs.ts';
import type { Issue, SecondFactorRouteDeps } from '../route-deps.ts';
import { addPasskey, beginPasskey, changePasskeyName, removePasskey } from './enrolment.ts';
import { requirePasskeySignIn, signInMethods, signInRequest, signInWithPasskey } from './sign-in.ts';

export type RouteTools = {
  visitorOf: (request: FastifyRequest) => Visitor;
  /** Returns the caller. Throws `rate_limited` (429). */
  countedCallerOf: (request: FastifyRequest) => Promise<UserCaller>;
  changed: (reply: FastifyReply, change: Changed) => ChangedFactors;
  issue: Issue;
};

export function passkeyRoutes(app: App, deps: SecondFactorRouteDeps, tools: RouteTools): void {
  signInRoutes(app, deps, tools);
  ownPasskeyRoutes(app, deps, tools);
}

function signInRoutes(app: App, deps: SecondFactorRouteDeps, { visitorOf, issue }: RouteTools): void {
  const { settings } = deps;
  // Before the body is read: what cannot be done needs no correct body.
  const onRequest = hook(() => requirePasskeySignIn(deps));

  app.route({
    method: 'GET',
    url: '/sign-in-methods',
    config: { access: 'public' },
    schema: {
      summary: 'Read how people can sign in here',
      description: 'It says nothing about an account: what an account needs is told after its password.',
      response: { 200: SignInMethodsEnvelope },
    },
    handler: () => ({ data: signInMethods(deps), message: 'The ways to sign in.' }),
  });

  app.route({
    method: 'POST',
    url: '/login/passkey/options',
    onRequest,
    config: {
      access: 'public',
      limit: { name: 'passkey-options', rule: settings.rateLimitPasskeyOptions },
      errors: ['passkeys_unavailable'],
    },
    schema: {
      summary: 'Begin a sign-in with a passkey',
      description: 'The challenge counts once, in this browser, for ten minutes. Nothing is stored.',
      body: SignInPasskeyOptionsBody,
      response: { 200: SignInPasskeyOptionsEnvelope },
    },
    handler: (request) => {
      const { options, expiresAt } = signInRequest(deps, visitorOf(request).browserId);
      return {
        data: { passkey: options, expires_at: expiresAt.toISOString() },
        message: 'Ask the browser for a passkey with these options.',
      };
    },
  });

  app.route({
    method: 'POST',
    url: '/login/passkey',
    onRequest,
    config: {
      access: 'public',
      cookies: { reads: [DEVICE_COOKIE], sets: [REFRESH_COOKIE, BROWSER_COOKIE, DEVICE_COOKIE] },
      limit: { name: 'login-passkey', rule: settings.rateLimitSecondFactor },
      errors: [
        'passkeys_unavailable',
        'sign_in_expired',
        'passkey_unknown',
        'passkey_refused',
        'email_not_verified',
        'overloaded',
      ],
    },
    schema: {
      summary: 'Sign in with a passkey',
      description:
        'Without a password and without naming an account. Only a passkey that verified its user when it was added signs in alone; a security key does not.',
      body: SignInPasskeyBody,
      response: { 200: LoginEnvelope },
    },
    handler: async (request, reply) => {
      const response = readAssertion(request.body.passkey);
      const outcome = await signInWithPasskey(deps, visitorOf(request), response);
      const { user, secondFactor, ...tokens } = signedInOr(outcome);
      const notice = secondFactor ? { second_factor: secondFactor } : {};
      return { data: { ...issue(reply, tokens), user, ...notice }, message: 'Signed in.' };
    },
  });
}

function ownPasskeyRoutes(
  app: App,
  deps: SecondFactorRouteDeps,
  { countedCallerOf, changed }: RouteTools,
): void {
  app.route({
    method: 'POST',
    url: '/factors/passkeys/options',
    config: {
      access: 'user',
      openTo: ['second_factor'],
      fresh: true,
      errors: ['passkeys_unavailable', 'too_many_factors', 'rate_limited'],
    },
    schema: {
      summary: 'Begin to add a passkey or a security key',
      description: 'The challenge counts once, in this session, for ten minutes.',
      body: NewPasskeyOptionsBody,
      response: { 200: NewPasskeyOptionsEnvelope },
    },
    handler: async (request) => {
      const caller = await countedCallerOf(request);
      const { options, expiresAt } = await beginPasskey(deps, caller, request.body.kind);
      return {
        data: { passkey: options, expires_at: expiresAt.toISOString() },
        message: 'Ask the browser for a new credential with these options.',
      };
    },
  });

  app.route({
    method: 'POST',
    url: '/factors/passkeys',
    config: {
      access: 'user',
      openTo: ['second_factor'],
      fresh: true,
      cookies: { sets: [REFRESH_COOKIE, BROWSER_COOKIE] },
      errors: [
        'passkeys_unavailable',
        'passkey_refused',
        'passkey_taken',
        'too_many_factors',
        'conflict',
        'rate_limited',
        'overloaded',
      ],
    },
    schema: {
      summary: 'Add a passkey or a security key',
      description:
        'At most 20 of an account. The first factor of an account makes its recovery codes, and ends every other session, all trust in devices and every sign-in that waits.',
      body: NewPasskeyBody,
      response: { 201: AddedPasskeyEnvelope },
    },
    handler: async (request, reply) => {
      const { passkey, ...change } = await addPasskey(deps, await countedCallerOf(request), request.body);
      reply.code(201);
      return { data: { ...changed(reply, change), passkey }, message: `${passkey.name} is added.` };
    },
  });

  app.route({
    method: 'PUT',
    url: '/factors/passkeys/:passkey_id',
    config: { access: 'user', openTo: ['second_factor'], errors: ['factor_not_found', 'rate_limited'] },
    schema: {
      summary: 'Rename one of your passkeys or security keys',
      params: PasskeyParams,
      body: RenamePasskeyBody,
      response: { 200: PasskeyEnvelope },
    },
    handler: async (request) => {
      const caller = await countedCallerOf(request);
      const data = await changePasskeyName(deps, caller, request.params.passkey_id, request.body.name);
      return { data, message: 'Renamed.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/factors/passkeys/:passkey_id',
    config: {
      access: 'user',
      openTo: ['second_factor'],
      fresh: true,
      cookies: { sets: [REFRESH_COOKIE, BROWSER_COOKIE] },
      errors: ['factor_not_found', 'last_sign_in_method', 'rate_limited'],
    },
    schema: {
      summary: 'Remove one of your passkeys or security keys',
      description:
        'Ends every other session, all trust in devices and every sign-in that waits. With the last factor, the recovery codes go. Refused if there would be no other way to sign in.',
      params: PasskeyParams,
      response: { 200: ChangedFactorsEnvelope },
    },
    handler: async (request, reply) => {
      const change = await removePasskey(deps, await countedCallerOf(request), request.params.passkey_id);
      return { data: changed(reply, change), message: 'The passkey is removed.' };
    },
  });
}

// The document changes only with the settings, at a restart.
const ORIGINS_MAX_AGE_SECONDS = 300;

export function relatedOriginRoutes(app: App, { passkeySite }: { passkeySite: PasskeySite }): void {
  app.route({
    method: 'GET',
    url: '/.well-known/webauthn',
    config: { access: 'public', errors: ['route_not_found'] },
    schema: {
      summary: 'Read which origins may use the passkeys of this service',
      description:
        'Web Authentication Level 3, section 5.11. Browsers ask the domains of PASSKEY_RP_ID and PASSKEY_FORMER_RP_IDS for it. 404 unless one of them is another host than that of PUBLIC_URL, or PASSKEY_ORIGINS is set.',
      response: { 200: RelatedOrigins },
    },
    handler: (_request, reply) => {
      if (!passkeySite.publishesOrigins) throw new AppError('route_not_found');
      reply.header('cache-control', `public, max-age=${ORIGINS_MAX_AGE_SECONDS}`);
      return { origins: [...passkeySite.origins] };
    },
  });
}

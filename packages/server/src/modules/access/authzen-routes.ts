// HTTP of the AuthZEN API: /api/v1/access/v1 and its discovery document. Answers have no envelope, and a request that
// is wrong in any way is 400, as the standard requires.
import {
  ActionSearchAnswer,
  ActionSearchBody,
  AuthzenConfiguration,
  Decision,
  Evaluation,
  EvaluationsAnswer,
  EvaluationsBody,
  EvaluationsInput,
  SubjectSearchAnswer,
  SubjectSearchBody,
} from '@castellan/contract/authzen';
import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { bulkBody } from '../../platform/http/bodies/body-limits.ts';
import { compileSchema } from '../../platform/http/bodies/validation.ts';
import type { App } from '../../platform/http/server/server.ts';
import { callerOf } from '../authz/caller.ts';
import { type EvaluationDeps, evaluate, evaluateAll } from './evaluations.ts';
import { createPageTokens } from './page-tokens.ts';
import { type SearchDeps, searchActions, searchSubjects } from './searches.ts';

type AuthzenDeps = EvaluationDeps & Omit<SearchDeps, 'pageTokens'> & { searchTokenKey: Buffer };

const config = {
  access: 'authenticated',
  othersNeed: 'access.check',
  readOnly: true,
  accessLimited: true,
  invalidInput: 'invalid_input',
  otherMedia: 'malformed_request',
} as const satisfies FastifyContextConfig;
const tags = ['Decisions'];
const REFUSAL =
  'A refusal is 200 too. A gateway that reads only the status must use `/api/v1/access/forward` instead.';
const LIVE =
  'With the header `Prefer: live`, `context.fresh_for` tells how long the decision may be kept, if `/api/v1/access/feed` names no change of it.';

/** Returns whether the request has the preference `live` (RFC 7240). Other preferences are ignored. */
function prefersLive({ headers: { prefer = [] } }: FastifyRequest): boolean {
  const preferences = [prefer].flat().flatMap((header) => header.split(','));
  return preferences.some((one) => /^live\s*(?:;|$)/i.test(one.trim()));
}

export function authzenRoutes(app: App, { searchTokenKey, ...deps }: AuthzenDeps): void {
  const searchDeps = { ...deps, pageTokens: createPageTokens(searchTokenKey) };

  app.route({
    method: 'POST',
    url: '/evaluation',
    // One statement that requests share.
    config: { ...config, turn: false },
    schema: {
      summary: 'Decide whether a subject may do an action',
      description: `${LIVE} ${REFUSAL}`,
      tags,
      body: Evaluation,
      response: { 200: Decision },
    },
    handler: (request) => evaluate(deps, callerOf(request), request.body, prefersLive(request)),
  });

  app.route({
    method: 'POST',
    url: '/evaluations',
    config: { ...config, body: bulkBody },
    schema: {
      summary: 'Decide up to 1,000 evaluations',
      description: `Without \`evaluations\`, the request is a single evaluation, and so is the response. An item that cannot be evaluated is a deny with \`context.error\`. ${LIVE} ${REFUSAL}`,
      tags,
      body: EvaluationsBody,
      response: { 200: EvaluationsAnswer },
    },
    validatorCompiler: (route) => compileSchema({ ...route, schema: EvaluationsInput }),
    handler: (request) => evaluateAll(deps, callerOf(request), request.body, prefersLive(request)),
  });

  app.route({
    method: 'POST',
    url: '/search/subject',
    config,
    schema: {
      summary: 'Search the subjects that may do an action',
      description: 'Active subjects of one type, superusers included, sorted by id.',
      tags,
      body: SubjectSearchBody,
      response: { 200: SubjectSearchAnswer },
    },
    handler: (request) => searchSubjects(searchDeps, callerOf(request), request.body),
  });

  app.route({
    method: 'POST',
    url: '/search/action',
    config,
    schema: {
      summary: 'Search the actions that a subject may do',
      description: 'What follows `resource.type` in the names of permissions, sorted by name.',
      tags,
      body: ActionSearchBody,
      response: { 200: ActionSearchAnswer },
    },
    handler: (request) => searchActions(searchDeps, callerOf(request), request.body),
  });
}

// Clients may keep the document for five minutes.
const DISCOVERY_MAX_AGE_SECONDS = 300;

/** Adds the discovery document at the path that the standard derives from `policy_decision_point`, and without it. */
export function discoveryRoutes(app: App, { publicUrl }: { publicUrl: string }): void {
  const point = `${publicUrl}/api/v1`;
  const configuration: AuthzenConfiguration = {
    policy_decision_point: point,
    access_evaluation_endpoint: `${point}/access/v1/evaluation`,
    access_evaluations_endpoint: `${point}/access/v1/evaluations`,
    search_subject_endpoint: `${point}/access/v1/search/subject`,
    search_action_endpoint: `${point}/access/v1/search/action`,
  };
  // Behind a proxy that serves the API below a path, the derived path contains that path.
  for (const suffix of new Set(['/api/v1', '', new URL(point).pathname]))
    app.route({
      method: 'GET',
      url: `/.well-known/authzen-configuration${suffix}`,
      config: { access: 'public' },
      schema: { summary: 'Find the endpoints of decisions', response: { 200: AuthzenConfiguration } },
      handler: async (_request, reply) => {
        reply.header('cache-control', `public, max-age=${DISCOVERY_MAX_AGE_SECONDS}`);
        return configuration;
      },
    });
}

// Defines the caller of a request, as services, the audit log and delegation use it.
import { NAMED_SUBJECTS } from '@castellan/contract/access-changes';
import type { Access } from '@castellan/contract/permissions';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { namedSubjectsIn } from '../../platform/http/plugins/dry-run.ts';
import { type IfMatch, readIfMatch } from '../../platform/http/record-version.ts';
import type { ClientRow } from '../api-keys/service.ts';
import { type CurrentSession, contextIn, provedByPassword } from '../sessions/service.ts';
import type { LiveToken } from '../sessions/token-lookup.ts';
import type { Subject } from './effective.ts';
import type { Graph } from './graph/graph.ts';
import type { Policy } from './requirements/account.ts';

/** A signed-in user. */
export type UserPrincipal = {
  type: 'user';
  /** Id of the user. */
  id: string;
  email: string;
  session: CurrentSession;
  /** The superuser flag and the roles, from which permissions are computed. */
  subject: Subject;
  /** The user's row, read in the statement that found the token. */
  record: LiveToken;
};

/** A service account, signed in with an API key or with an access token made from one. */
export type ServicePrincipal = {
  type: 'service_account';
  /** Id of the service account. */
  id: string;
  name: string;
  /** Id of the API key, also for an access token made from it. */
  keyId: string;
  /** The roles of the account, and the permissions to which the key is narrowed. */
  subject: Subject;
};

/** Add another kind of caller as a member of this union; the compiler then lists the code that needs a user. */
export type Principal = UserPrincipal | ServicePrincipal;

/** An authorized request: its principal, its client and the permission that its route requires. */
export type Caller = {
  principal: Principal;
  client: Client;
  /** The access that the route requires. */
  access: Access;
  /** The method and the path of the route, such as `PUT /api/v1/roles/:role_id`. */
  operation: string;
  /** The graph that authorized the request. */
  graph: Graph;
  /** Whom SECOND_FACTOR_REQUIRED_FOR concerns. */
  policy: Policy;
  /** How old a fresh proof may be. */
  proofMaxAgeSeconds: number;
  /** By the clock of the process, in milliseconds since 1970: when it was judged how recent the caller's proof is. */
  judgedAt: number;
  /** Versions from the If-Match header; null if any version is accepted. See `requireVersion`. */
  ifMatch: IfMatch;
  /** How many subjects a preview names. */
  namedSubjects: number;
};

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on public routes, and until the guard has found the token. */
    caller: Caller | null;
    /** When the guard last began to look for the caller: monotonic, in milliseconds. */
    authorizedAt: number;
  }
}

/** A caller that is a signed-in user. */
export type UserCaller = Caller & { principal: UserPrincipal };

export const userPrincipal = (live: LiveToken): UserPrincipal => ({
  type: 'user',
  id: live.user_id,
  email: live.email,
  session: { id: live.session_id, context: contextIn(live) ?? provedByPassword(live.auth_time) },
  subject: live,
  record: live,
});

export const servicePrincipal = (row: ClientRow): ServicePrincipal => ({
  type: 'service_account',
  id: row.account_id,
  name: row.account_name,
  keyId: row.key_id,
  subject: { is_superuser: false, role_ids: row.role_ids, narrowed_to: row.narrowed_to },
});

export const createCaller = (
  request: FastifyRequest,
  principal: Principal,
  authorized: Pick<Caller, 'access' | 'graph' | 'policy' | 'proofMaxAgeSeconds' | 'judgedAt'>,
): Caller => ({
  ...authorized,
  operation: `${request.method} ${request.routeOptions.url}`,
  principal,
  client: request.client,
  ifMatch: readIfMatch(request),
  namedSubjects: namedSubjectsIn(request) ?? NAMED_SUBJECTS,
});

/** Returns the caller of the request. Throws on a public route, which has none. */
export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new Error('this route is public: it has no caller');
  return request.caller;
}

const isUserCaller = (caller: Caller): caller is UserCaller => caller.principal.type === 'user';

/** Returns the caller if it is a user. Throws `user_required` (403) for a service account. */
function requireUser(caller: Caller): UserCaller {
  if (isUserCaller(caller)) return caller;
  throw new AppError('user_required');
}

/** Returns the user who sent the request. Throws as `callerOf` and `requireUser` do. */
export const userCallerOf = (request: FastifyRequest): UserCaller => requireUser(callerOf(request));

/** The caller as the actor of an audit event. */
export const actorOf = ({ type, id, ...principal }: Principal) => ({
  actorId: id,
  actorType: type,
  actorName: 'name' in principal ? principal.name : null,
  actorKeyId: 'keyId' in principal ? principal.keyId : null,
});

/** The user who becomes `created_by_id` of a record; null for a service account, which only the audit log names. */
export const authorIdOf = ({ principal }: Caller): string | null =>
  principal.type === 'user' ? principal.id : null;

/** The session of the request; null for a service account, which has none. */
export const sessionIdOf = (principal: Principal): string | null =>
  principal.type === 'user' ? principal.session.id : null;

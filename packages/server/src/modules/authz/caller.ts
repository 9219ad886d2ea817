// Defines the caller of a request, as services, the audit log and delegation use it.
import { NAMED_SUBJECTS } from '@castellan/contract/access-changes';
import type { Acr } from '@castellan/contract/authentication';
import type { Access } from '@castellan/contract/permissions';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { namedSubjectsIn } from '../../platform/http/plugins/dry-run.ts';
import { type IfMatch, readIfMatch } from '../../platform/http/record-version.ts';
import type { UserRow } from '../../schema/user-record.ts';
import type { ClientRow, PersonalTokenRow } from '../api-keys/service.ts';
import { type CurrentSession, contextIn, isAcr, provedByPassword } from '../sessions/service.ts';
import type { Actor, LiveUser } from '../sessions/token-lookup.ts';
import type { Subject } from './effective.ts';
import type { Graph } from './graph/graph.ts';
import type { Policy } from './requirements/account.ts';

type Person = {
  type: 'user';
  /** Id of the user. */
  id: string;
  email: string;
  /** The superuser flag and the roles, from which permissions are computed; and to what a personal access token is narrowed. */
  subject: Subject;
};

/** A signed-in user. */
export type UserPrincipal = Person & {
  session: CurrentSession;
  personalToken: null;
  /** Who acts as the user; null for the user. */
  actor: Actor | null;
  /** The user's row, read in the statement that found the token. */
  record: LiveUser;
};

/** A user on whose behalf a program sends a personal access token. It proves nothing about who is there now. */
export type TokenPrincipal = Person & {
  session: null;
  actor: null;
  personalToken: {
    readonly id: string;
    /** How its owner had signed in when they made it. */
    readonly madeAt: Acr;
    readonly expiresAt: Date;
  };
  /** The row of its owner. A narrowed token is shown as that of no superuser. */
  record: UserRow & { narrowed_to: string[] | null };
};

export type PersonPrincipal = UserPrincipal | TokenPrincipal;

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
export type Principal = PersonPrincipal | ServicePrincipal;

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

/** A caller that is a person, signed in or by a personal access token. */
export type PersonCaller = Caller & { principal: PersonPrincipal };

/** Returns the principal. Nobody acts as the user of a browser session, whose row has no `actor`. */
export const userPrincipal = (live: LiveUser & { actor?: Actor | null }): UserPrincipal => ({
  type: 'user',
  id: live.user_id,
  email: live.email,
  session: { id: live.session_id, context: contextIn(live) ?? provedByPassword(live.auth_time) },
  personalToken: null,
  subject: live,
  actor: live.actor ?? null,
  record: live,
});

/** Throws for a level that this release does not know: the token must count for nothing. */
export function tokenPrincipal(row: PersonalTokenRow): TokenPrincipal {
  const { token_id: id, acr, token_expires_at: expiresAt, narrowed_to, is_superuser, role_ids } = row;
  if (!isAcr(acr)) throw new Error(`a personal access token has the unknown level ${acr}`);
  return {
    type: 'user',
    id: row.user_id,
    email: row.email,
    session: null,
    actor: null,
    personalToken: { id, madeAt: acr, expiresAt },
    subject: { is_superuser, role_ids, narrowed_to },
    record: { ...row, is_superuser: is_superuser && narrowed_to === null },
  };
}

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

const isPersonCaller = (caller: Caller): caller is PersonCaller => caller.principal.type === 'user';
const isUserCaller = (caller: Caller): caller is UserCaller =>
  isPersonCaller(caller) && caller.principal.personalToken === null;

/**
 * Returns the person who sent the request, also by a personal access token. Throws as `callerOf` does, and `user_required` (403) for
 * a service account.
 */
export function personCallerOf(request: FastifyRequest): PersonCaller {
  const caller = callerOf(request);
  if (isPersonCaller(caller)) return caller;
  throw new AppError('user_required');
}

/** As `personCallerOf`, for a signed-in user. Throws `user_session_required` (403) for a personal access token. */
export function userCallerOf(request: FastifyRequest): UserCaller {
  const caller = personCallerOf(request);
  if (isUserCaller(caller)) return caller;
  throw new AppError('user_session_required');
}

/** Returns whether somebody sent a personal access token. */
export const isByToken = (principal: Principal): principal is TokenPrincipal =>
  principal.type === 'user' && principal.personalToken !== null;

/**
 * Checks that the caller may make a credential that goes on when theirs ends. Throws `user_session_required` (403) for a personal access
 * token: a thief of one could otherwise stay after its end.
 */
export function requireLasting({ principal }: Pick<Caller, 'principal'>): void {
  if (!isByToken(principal)) return;
  throw new AppError('user_session_required', {
    detail:
      'A personal access token cannot make keys, secrets or other credentials, which would outlive it. Sign in, and use the access token of the session.',
  });
}

/** The caller as the actor of an audit event. */
export const actorOf = ({ type, id, ...principal }: Principal) => ({
  actorId: id,
  actorType: type,
  actorName: 'name' in principal ? principal.name : null,
  actorKeyId: 'keyId' in principal ? principal.keyId : null,
  actorTokenId: ('personalToken' in principal && principal.personalToken?.id) || null,
});

/** The user who becomes `created_by_id` of a record; null for a service account, which only the audit log names. */
export const authorIdOf = ({ principal }: Caller): string | null =>
  principal.type === 'user' ? principal.id : null;

/** The session of the request; null for a service account and a personal access token, which have none. */
export const sessionIdOf = (principal: Principal): string | null =>
  (principal.type === 'user' && principal.session?.id) || null;

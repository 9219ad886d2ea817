import { bearerToken } from './access-token.ts';
import { GuardError, refusalOf } from './errors.ts';
import type { Live, LiveState } from './live/live.ts';
import {
  addressOf,
  authorizationOf,
  type HeaderCarrier,
  type Middleware,
  middlewareOf,
} from './middleware.ts';
import { checkRequirement, meets, type Requirement, stricter } from './requirement.ts';
import {
  type Backend,
  type Check,
  folded,
  type Identity,
  type Inspection,
  isNameable,
  partsOf,
  type Subject,
} from './subject.ts';

/** Decides who sent a request and what they may do. Everything that is no clear yes is a refusal: a `GuardError`, or false. */
export type Guard = {
  /**
   * Returns who sent a request. Throws a `GuardError` with `missing_token` or `invalid_token`, with `rate_limited` for an API key
   * or a token of an application after too many unknown ones of its network, or with `unavailable` if there is no trustworthy answer.
   */
  authenticate(request: HeaderCarrier): Promise<Identity>;
  /**
   * Tells whether the subject has the permission now. An identity that a guard returned is decided by its token, which must
   * still be live; every other subject by the account. Throws a `GuardError` with `unavailable`, and a TypeError for a copy of
   * an identity.
   */
  can(subject: Subject, permission: string): Promise<boolean>;
  /** Tells whether every one of the checks, at least one, holds. Throws a `GuardError` with `unavailable`. */
  canAll(checks: readonly Check[]): Promise<boolean>;
  /**
   * Lets only callers with the permission through. Castellan judges what the permission requires of the user's proof; a further
   * requirement is judged here. Who has the permission and has not proved enough gets `insufficient_user_authentication`. Throws a
   * TypeError at once if this is no name of a permission or no requirement.
   */
  require(permission: string, requirement?: Requirement): Middleware;
  /** Lets every caller with a live token through. Called with a requirement, it returns what lets those through who meet it. */
  authenticated: Middleware & ((requirement: Requirement) => Middleware);
  /** Returns who sent a request that a middleware let through. Throws for any other request. */
  identityOf(request: object): Identity;
  /**
   * Checks a request by what a live guard keeps, without waiting: returns who sent it, or the refusal; undefined if Castellan must be
   * asked, which `require` does. Throws a TypeError if this is no name of a permission or no requirement.
   */
  check(
    request: HeaderCarrier,
    permission: string,
    requirement?: Requirement,
  ): Identity | GuardError | undefined;
  /**
   * Resolves when kept answers count; at once for a guard that is not live. Rejects with `unavailable` if Castellan refuses the feed,
   * and if the guard is closed.
   */
  ready(): Promise<void>;
  /** Tells whether kept answers count now. */
  state(): LiveState;
  /** Ends the stream of a live guard. It keeps nothing more, and a check asks or refuses as `onSilence` says. */
  close(): void;
};

export type GuardHooks = {
  /** Is told of refusals that Castellan or the network caused, to be logged. */
  onUnavailable?: ((error: GuardError) => void) | undefined;
  /** Returns the address of the client that sent the request. */
  addressOf?: ((request: HeaderCarrier) => string | undefined) | undefined;
  /** How far the clocks may differ, in ms. Default: 60,000. */
  clockToleranceMs?: number | undefined;
};

const subjectTypes: readonly unknown[] = ['user', 'service_account', 'role'];

/**
 * The tokens of identities, of all guards: what callers may do depends on their token, which may have ended or be narrowed, not
 * only on their account.
 */
const tokens = new WeakMap<object, string>();

/** Returns the guard over a backend; the network and the tests' stand-in differ only there. */
export function guardOver(backend: Backend, hooks: GuardHooks, live?: Live): Guard {
  const callers = new WeakMap<object, Identity>();

  /** Runs a decision, and tells why there is none. */
  async function ask<Answer>(run: () => Promise<Answer>): Promise<Answer> {
    try {
      return await run();
    } catch (error) {
      const refused = refusalOf(error);
      try {
        if (refused.code === 'unavailable') hooks.onUnavailable?.(refused);
      } catch {
        // A broken log must not turn a refusal into something else.
      }
      throw refused;
    }
  }

  async function inspect(request: HeaderCarrier): Promise<Inspection> {
    const header = authorizationOf(request);
    if (header === '') throw missingToken();
    const token = bearerToken(header);
    const found =
      token === undefined ? undefined : await backend.inspect(token, (hooks.addressOf ?? addressOf)(request));
    if (!found || token === undefined) throw invalidToken();
    tokens.set(found.identity, token);
    return found;
  }

  async function can(subject: Subject, permission: string): Promise<boolean> {
    checkSubject(subject);
    partsOf(permission);
    if (!isNameable(subject.id) || !isNameable(permission)) return false;
    const token = tokens.get(subject);
    if (token === undefined) {
      if ('tokenId' in subject)
        throw new TypeError(
          'Pass an identity as a guard returned it, or only its type and id; not a copy of it.',
        );
      return ask(() => backend.decide(subject, permission));
    }
    const found = await ask(() => backend.inspect(token));
    // It may be kept, and be returned by a later check.
    if (found) tokens.set(found.identity, token);
    return found?.permissions.has(folded(permission)) === true;
  }

  const { clockToleranceMs = 60_000 } = hooks;

  function refusedAccess(
    found: Inspection,
    permission?: string,
    requirement?: Requirement,
  ): GuardError | undefined {
    const name = permission === undefined ? undefined : folded(permission);
    const own = name === undefined ? undefined : found.stepUps.get(name);
    if (name !== undefined && !own && !found.permissions.has(name))
      return new GuardError('permission_denied', `The caller lacks ${permission}.`, {
        requiredPermission: permission,
      });
    const unmet =
      requirement && !meets(found.identity, requirement, clockToleranceMs) ? requirement : undefined;
    const needed = own ? stricter(own, requirement) : unmet;
    return (
      needed &&
      new GuardError('insufficient_user_authentication', 'The user must prove again who they are.', {
        requiredPermission: permission,
        requirement: needed,
      })
    );
  }

  const middleware = (permission?: string, requirement?: Requirement): Middleware => {
    if (requirement) checkRequirement(requirement);
    return middlewareOf((request, ...known) =>
      ask(async () => {
        const found = await inspect(request);
        const refused = refusedAccess(found, permission, requirement);
        if (refused) throw refused;
        for (const one of [request, ...known]) callers.set(one, found.identity);
      }),
    );
  };

  function check(request: HeaderCarrier, permission: string, requirement?: Requirement) {
    partsOf(permission);
    if (requirement) checkRequirement(requirement);
    const header = authorizationOf(request);
    if (header === '') return missingToken();
    // What is kept was well-formed. So only what is not kept needs the slower look.
    const kept = header.startsWith('Bearer ') ? backend.kept?.(header.slice(7)) : undefined;
    if (kept) return refusedAccess(kept, permission, requirement) ?? kept.identity;
    return bearerToken(header) === undefined ? invalidToken() : backend.refusal?.();
  }

  return {
    check,
    ready: async () => live?.ready(),
    state: () => live?.state() ?? { live: false, ageMs: Number.POSITIVE_INFINITY, kept: 0 },
    close: () => live?.close(),
    authenticate: async (request) => (await ask(() => inspect(request))).identity,
    can,
    async canAll(checks) {
      if (checks.length === 0) throw new TypeError('canAll needs at least one check.');
      const answers = await Promise.all(checks.map(({ subject, permission }) => can(subject, permission)));
      return answers.every((one) => one);
    },
    require(permission, requirement) {
      partsOf(permission);
      return middleware(permission, requirement);
    },
    authenticated: Object.assign(
      (requirement: Requirement) => middleware(undefined, requirement ?? {}),
      middleware(),
    ),
    identityOf(request) {
      const identity = callers.get(request);
      if (!identity) throw new TypeError('No middleware of this guard let this request through.');
      return identity;
    },
  };
}

const missingToken = (): GuardError =>
  new GuardError('missing_token', 'The request has no Authorization header.');

const invalidToken = (): GuardError =>
  new GuardError('invalid_token', 'The bearer token is malformed, has ended or is of another issuer.');

function checkSubject(subject: Subject): void {
  if (!subjectTypes.includes(subject?.type) || typeof subject.id !== 'string' || subject.id === '')
    throw new TypeError('A subject is { type: "user", "service_account" or "role", id }.');
}

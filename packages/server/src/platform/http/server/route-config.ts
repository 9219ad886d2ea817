// What a route declares besides its schema. The types apply to every `app.route` call; the hooks read the values.
import type { ErrorCode } from '@castellan/contract/errors';
import type { Access, Permission } from '@castellan/contract/permissions';
import type { FastifyContextConfig, FastifySchema } from 'fastify';
import type { RateLimitRule } from '../../limits/rate-limit.ts';
import type { BodyLimits } from '../bodies/body-limits.ts';
import type { Client } from '../client.ts';
import type { ErrorShape } from '../error-shape.ts';
import type { Requirement } from '../requirements.ts';

export type DeclaredRoute = {
  method: string;
  url: string;
  takesBody: boolean;
  config: FastifyContextConfig;
  schema: FastifySchema;
};

declare module 'fastify' {
  interface FastifyInstance {
    /** Every registered method and path, with what it declares. */
    declaredRoutes: readonly DeclaredRoute[];
  }
  interface FastifyContextConfig {
    /** Who may call. Registering a route without it fails. */
    access?: Access;
    /**
     * The path parameter in which callers of this type, without the permission of the route, may name themselves. For
     * operations that change nothing.
     */
    orSelf?: { type: 'user' | 'service_account'; param: string };
    /** The permission to ask about others than oneself, if `access` alone lets everybody ask about themselves. */
    othersNeed?: Permission;
    /** Error codes besides those implied by access, method and body. For the reference. */
    errors?: readonly ErrorCode[];
    /** False for an operation whose body has the versions, so that If-Match does not count. For the reference. */
    ifMatch?: false;
    /** Fixed window per client address; `rule` is null when the limit is off. */
    limit?: { name: string; rule: RateLimitRule | null };
    /** Limits of the body. Default: by `access` (body-limits.ts). Set on every registered route. */
    body?: BodyLimits;
    /** Error code for a missing field or a wrong value. Default: validation_failed (422). */
    invalidInput?: 'invalid_input' | 'validation_failed';
    /** Error code for a body of another content type. Default: unsupported_media_type (415). */
    otherMedia?: 'malformed_request' | 'unsupported_media_type';
    /** False for an operation that costs no more than its authorization: it takes no turn of its caller. */
    turn?: false;
    /**
     * A POST that changes nothing and accepts no cookie. It needs no CSRF token and takes a turn of the reads. Its caller
     * is authorized a second time only if the body took more than a second.
     */
    readOnly?: true;
    /** Lists or ends what has access to the caller's account: it has its own limit, so that a stolen token cannot use up the owner's. */
    endsAccess?: boolean;
    /**
     * A person must have proved a moment ago who they are (STEP_UP_MAX_AGE). Operations of `freshPermissions` ask for it without this.
     * Also check it in the transaction of the change.
     */
    fresh?: true;
    /** Stays open to users who must do this first. Everything else is refused to them. */
    openTo?: readonly Requirement[];
    /**
     * Counts for RATE_LIMIT_ACCESS. With `by answer`, the operation counts a request itself when its answer is known; a caller
     * who has used up the limit is refused before.
     */
    accessLimited?: true | 'by answer';
    /** False only for operations that accept no cookie at all, such as those with `readOnly`. */
    csrf?: boolean;
    /**
     * The body is a form instead of JSON. Register the route in a scope that `acceptFormsOnly` (form-parsing.ts) made. `repeatable`: the
     * fields that may be repeated, which become arrays.
     */
    form?: boolean | { repeatable: readonly string[] };
    /** The caller may also authenticate with HTTP Basic or in the form (client-credentials.ts). */
    clientCredentials?: boolean;
    /**
     * With `clientCredentials`: an application may call, too. It has no caller, and the guard lets it pass: the handler must
     * authenticate it if `presentsApplication`.
     */
    orApplication?: true;
    /** What errors look like where a standard fixes it. Default: `ErrorBody` of the contract, or RFC 9457. */
    errorShape?: ErrorShape;
    /** A GET that answers every method alike, and ignores the body. */
    anyMethod?: true;
    /** Answers about the caller, like a decision: its 403 `permission_denied` is no audit event. */
    isDecision?: true;
    /** Headers of the response by name, with descriptions. For the reference. */
    answerHeaders?: Readonly<Record<string, string>>;
    /** Cookies that the operation reads if they are sent, and those it sets or clears. For the reference. */
    cookies?: { reads?: readonly string[]; sets?: readonly string[] };
  }
  interface FastifyRequest {
    client: Client;
    /** The error code of the refusal, for the access log. */
    refusal: ErrorCode | null;
  }
}

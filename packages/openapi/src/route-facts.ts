// The type of what the builder knows about one route: only what the route declares.
import type { JsonSchema } from './types.ts';

/** The errors of a route that does not answer them as the others do. */
export type FailureShape = {
  /** Schema of the body. It needs a title. */
  schema: JsonSchema;
  /** Returns the code as which an error is answered. */
  codeOf(code: string): string;
  /** Returns an example of the body for a code that `codeOf` returned. */
  example(code: string): unknown;
};

export type RouteFacts = {
  /** Upper case. */
  method: string;
  /** As registered: `/api/v1/users/:user_id`. */
  url: string;
  summary: string;
  description: string | undefined;
  /** Default: the noun of the path. */
  tags: readonly string[] | undefined;
  /** Default: made from method and path. */
  operationId: string | undefined;
  /** `public`, `authenticated` (any credential), `user` (a signed-in user), or the name of a permission. */
  access: string;
  /** Whether callers without the permission may ask about themselves. */
  orSelf: boolean;
  /** Error codes besides those that the conventions imply. */
  errors: readonly string[];
  /** Requests per client address. */
  limit: { limit: number; windowSeconds: number } | null;
  /** `size` for people: `64 KiB`. `values`: array items and object members at every depth. */
  bodyLimits: { size: string; values: number };
  /** Error code for a missing field or a wrong value. */
  invalidInput: string;
  /** Error code for a body of another content type. */
  otherMedia: string;
  /** The permission to ask about others than oneself, where `access` lets everybody ask about themselves. */
  othersNeed: string | null;
  /** Whether a CSRF token is required. */
  csrf: boolean;
  /** Whether the route honours Idempotency-Key. */
  idempotent: boolean;
  /** Whether the route answers 412 when If-Match names another version. */
  conditional: boolean;
  /** Whether the caller may authenticate with HTTP Basic. */
  basic: boolean;
  /** What errors look like where a standard fixes it; undefined for `failure` and `problem` of the conventions. */
  failure: FailureShape | undefined;
  /** Headers of a success by name, with descriptions. */
  answerHeaders: Readonly<Record<string, string>>;
  cookies: { reads: readonly string[]; sets: readonly string[] };
  body: JsonSchema | undefined;
  /** Media type of the body. */
  bodyTypes: readonly string[];
  params: JsonSchema | undefined;
  query: JsonSchema | undefined;
  /** By status. */
  answers: Readonly<Record<string, JsonSchema>>;
};

export const requiresPermission = ({ access }: Pick<RouteFacts, 'access'>): boolean =>
  access !== 'public' && access !== 'authenticated' && access !== 'user';

/** Returns whether the operation concerns the account of the user who calls it. */
export const isPersonal = ({ access }: Pick<RouteFacts, 'access'>): boolean =>
  access === 'user' || access.startsWith('self.');

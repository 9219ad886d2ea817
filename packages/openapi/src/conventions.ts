// The type of what holds for every operation of a service: errors, authentication, examples, sentences.
// It must not contain a fact about one service.
import type { JsonSchema } from './types.ts';

/** The codes that a property of a route implies. `invalidInput`, `otherMedia` and the codes of `errors` come with the route. */
export type ImpliedErrors<Code extends string = string> = {
  always: readonly Code[];
  /** A sign-in is needed. */
  signedIn: readonly Code[];
  /** A permission is needed. */
  permission: readonly Code[];
  /** Operations on the account of the user who calls them. */
  personal: readonly Code[];
  csrf: readonly Code[];
  /** The route has a limit per client address. */
  limited: readonly Code[];
  body: readonly Code[];
  idempotent: readonly Code[];
  /** The path, the query or the body contains a UUID. */
  uuid: readonly Code[];
  /** By prefix of the path. */
  below: Readonly<Record<string, readonly Code[]>>;
};

export type Conventions<Code extends string = string> = {
  /** Every code with its status and its sentence. The document lists codes in this order. */
  errors: Readonly<Record<Code, readonly [status: number, detail: string]>>;
  implied: ImpliedErrors<Code>;
  /** Codes whose responses carry Retry-After. */
  retryAfter: readonly Code[];
  /** Schema of an error body as application/json. It needs a title. */
  failure: JsonSchema;
  /** Schema of an error body as application/problem+json (RFC 9457). It needs a title. */
  problem: JsonSchema;
  /** Returns an example of `failure` for this code. */
  failureExample(code: Code): unknown;
  /** Example values: by field, by `<title of the schema>.<field>`, or of whole schemas by title. */
  examples: Readonly<Record<string, unknown>>;
  /** What the bearer token is, in a sentence. */
  bearer: string;
  /** What the user name and the password of HTTP Basic are, in a sentence. */
  basic: string;
  /** The header and the cookie of CSRF protection, each with a sentence. */
  csrf: { header: string; headerIs: string; cookie: string; cookieIs: string };
  /** Goes before the name of every cookie: of `csrf`, and of those that routes declare. May be empty. */
  cookiePrefix: string;
  /** Tag → one sentence. */
  tags: Readonly<Record<string, string>>;
};

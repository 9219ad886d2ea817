// Facts of the API that the client needs when it runs, and the types of its calls. docs/openapi.json is the source;
// operations.test.ts compares the two.
import type { Operations } from '../api.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Operation = keyof Operations;

/** The POST operations that create records. A pattern, because pages load it, and a list is longer. */
const creating =
  /^POST \/api\/v1\/(users(\/invitations)?|roles|(\w+-\w+|\w+(ons|oks))(\/bulk|\/.+\/(clone|keys|rotate|secrets))?)$/;
/** Whether the operation accepts an Idempotency-Key. */
export const acceptsIdempotencyKey = (operation: string): boolean => creating.test(operation);
/** Only the first response has the API key or the secret. The response to a repetition has none. */
export const returnsKeyOnce = (path: string): boolean =>
  /(keys(\/\{key_id\}\/rotate)?|ications|oks|secrets)$/.test(path);
/**
 * The token services take forms and no CSRF token, and may have credentials of their own in the body. Beside them are the
 * operations of the pages of people, which do not.
 */
export const isTokenService = (path: string): boolean =>
  /\/v1\/oauth\/(?!interactions|device$)|\/(callback|backchannel-logout)$/.test(path);
/** Signs in or out. */
export const changesSession = (path: string): boolean =>
  /\/auth\/(login(\/second-factor|\/passkey)?|logout(\/all)?|change_password)$/.test(path);
/** The result is the response, whose body is a stream of NDJSON or CSV, or the text of a signed head. */
export const isExport = (path: string): boolean => /s\/(export|head)$/.test(path);
/** A success may have an empty body with a status other than 204. */
export const mayBeEmpty = (path: string): boolean => /\/(revoke|backchannel-logout)$/.test(path);

/** The paths of the operations with this method. */
export type PathOf<M extends Method> = Operation extends infer O
  ? O extends `${M} ${infer P}`
    ? P
    : never
  : never;

export type OperationOf<M extends Method, P extends string> = Extract<Operation, `${M} ${P}`>;

type Preview = { data: { dry_run: true } };

/** What a success returns, unless it is a preview. */
export type ResultOf<O extends Operation> = Exclude<Operations[O]['result'], Preview>;

/** What a success returns with `dry_run: true`; never for an operation without previews. */
export type PreviewOf<O extends Operation> = Extract<Operations[O]['result'], Preview>;

/** The operations that take `dry_run`. */
export type PreviewOperation = {
  [O in Operation]: [PreviewOf<O>] extends [never] ? never : O;
}[Operation];

export type CallOptions = {
  /** Aborts the call, also while it waits or reads. The call rejects with the reason of the signal. */
  signal?: AbortSignal | undefined;
  /** The time that one attempt may take, in milliseconds; `Infinity` for no limit. Default: that of the client. */
  timeoutMs?: number | undefined;
  /** Further headers, such as `if-match`. An `authorization` replaces that of the client. */
  headers?: Readonly<Record<string, string>> | undefined;
};

type AnyInputOf<O extends Operation> = Pick<
  Operations[O],
  Extract<keyof Operations[O], 'path' | 'query' | 'body' | 'idempotencyKey'>
> &
  CallOptions;

/** What a call takes: the parameters and the body of the operation, and options. */
export type InputOf<O extends Operation> = AnyInputOf<O> &
  (O extends PreviewOperation ? { query?: { dry_run?: false } } : unknown);

/** What a call takes whose result is a preview. */
export type PreviewInputOf<O extends PreviewOperation> = AnyInputOf<O> & { query: { dry_run: true } };

/** The arguments after the path. They may be left out if the operation requires none. */
export type Arguments<O extends Operation> =
  Record<never, never> extends InputOf<O> ? [input?: InputOf<O>] : [input: InputOf<O>];

import type { Acr } from '../levels.ts';
import type { GuardError } from './errors.ts';
import type { Requirement } from './requirement.ts';

/** Somebody to decide about: a user (id or email), a service account (id or name), or a role (id or name). */
export type Subject = { readonly type: 'user' | 'service_account' | 'role'; readonly id: string };

/** Who sent a request; also a subject, which may do what its token may: nothing once that has ended. */
export type Identity = {
  readonly type: 'user' | 'service_account';
  /** The UUID of the user or service account. */
  readonly id: string;
  /** The email of a user, the name of a service account. */
  readonly name: string;
  /** The id of the access token, or of the record of an API key. */
  readonly tokenId: string;
  /** The session of a user. */
  readonly sessionId: string | undefined;
  /** When the token ends by itself, in ms since 1970; undefined for an API key without an end. */
  readonly expiresAt: number | undefined;
  /** How strongly the user proved who they are. `aal1` for service accounts. */
  readonly acr: Acr;
  /** The methods of that proof, such as `pwd` and `otp` (RFC 8176). Empty if the token names none. */
  readonly amr: readonly string[];
  /** When that was, in ms since 1970; undefined if the token does not say. */
  readonly authTime: number | undefined;
  /** The UUID of the user who acts as this one, such as somebody of the help desk; absent if nobody does. */
  readonly actedBy?: string;
  /** The application that got the token, for a guard with `audience`. `id` is then what this application knows the user by. */
  readonly clientId?: string;
  /** With `clientId`: what the token carries. It may do nothing else. */
  readonly scopes?: readonly string[];
};

/** One question: may this subject do what the permission names? */
export type Check = { readonly subject: Subject; readonly permission: string };

/** What a token is worth now. The names of permissions are folded. */
export type Inspection = {
  identity: Identity;
  permissions: ReadonlySet<string>;
  /** What its user holds and may use only after a stronger or newer proof. */
  stepUps: ReadonlyMap<string, Requirement>;
};

/** Where a guard gets its answers. Every failure is a rejection, never an answer. */
export type Backend = {
  /** Returns what is kept of the token and counts now. */
  kept?(token: string): Inspection | undefined;
  /** Returns why nothing may be asked. */
  refusal?(): GuardError | undefined;

  /** Returns undefined for a token that is not live. `address`: of the client that presents it, if it is known. */
  inspect(token: string, address?: string): Promise<Inspection | undefined>;
  decide(subject: Subject, permission: string): Promise<boolean>;
};

/** Returns the group and the action of `<group>.<action>`. Throws a TypeError for anything else, such as a misspelt variable. */
export function partsOf(permission: string): [group: string, action: string] {
  const dot = typeof permission === 'string' ? permission.lastIndexOf('.') : -1;
  if (dot < 1 || dot === permission.length - 1)
    throw new TypeError('A permission is "<group>.<action>", for example "orders.read".');
  return [permission.slice(0, dot), permission.slice(dot + 1)];
}

/** Tells whether a text can be part of a name: Castellan refuses NUL and lone surrogates, as PostgreSQL cannot store them. */
export const isNameable = (text: string): boolean => !/[\0\p{Surrogate}]/u.test(text);

/**
 * Returns the name of a permission as it is compared: ignoring the case of ASCII letters. Other letters must be written as in
 * Castellan, because JavaScript and PostgreSQL fold them differently, and one name could pass for another.
 */
export const folded = (permission: string): string =>
  permission.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

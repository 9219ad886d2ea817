// What is read of the record of a provider, and what a provider says of a person. It must not talk to a provider.
import type { RoleMapping } from '@castellan/contract/identity-providers';
import type { Row } from '../../../schema/database.ts';

export type UpstreamProvider = Pick<
  Row<'identity_providers'>,
  | 'id'
  | 'slug'
  | 'kind'
  | 'issuer'
  | 'client_id'
  | 'client_auth'
  | 'secret_sealed'
  | 'team_id'
  | 'key_id'
  | 'scopes'
  | 'domains'
  | 'tenants'
  | 'version'
> & {
  extra_parameters: Readonly<Record<string, string>>;
  role_mapping: readonly Pick<RoleMapping, 'claim'>[];
};

/** What a provider says of somebody who signed in there, after every check of its answer. */
export type Assertion = {
  /** Exactly as in the ID token; `https://github.com` for GitHub. */
  issuer: string;
  /** `sub`. Microsoft: `{tid}:{oid}`, because `sub` differs for each application. GitHub: the id of the user. */
  subject: string;
  email: string | null;
  /** By the rules of the kind. False without an email. */
  emailVerified: boolean;
  /** The address forwards to another one that the provider keeps for itself (Apple). No rule for domains may take it. */
  emailIsRelay: boolean;
  /** Not trimmed, of any length. Apple's names are not signed: they are good for display only. */
  firstName: string | null;
  lastName: string | null;
  displayName: string | null;
  /** The members of the ID token, and those of userinfo that the ID token does not have. One that is missing is not there. */
  claims: Readonly<Record<string, unknown>>;
  acr: string | null;
  amr: readonly string[];
  /** Seconds between the sign-in there and the answer, both by the clock of the provider. Null if it does not tell (`auth_time`). */
  ageSeconds: number | null;
  sid: string | null;
  /** A secret. */
  idToken: string | null;
};

/**
 * `denied`: the person, or a rule of the provider, refused. `unavailable`: the provider does not answer, or not now. `unacceptable`:
 * its answer does not count.
 */
export type UpstreamFailure = 'denied' | 'unavailable' | 'unacceptable';

/** A provider did not say who somebody is. Neither the message nor the code has anything of an answer. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly kind: UpstreamFailure;
  /** For operators: a code of openid-client, of OAuth, of Node, or one of ours. */
  readonly code: string;
  /** With `unavailable`: when to try again. */
  readonly retryAfterSeconds: number;

  constructor(kind: UpstreamFailure, code: string, retryAfterSeconds = 10) {
    super(`the identity provider gave no acceptable answer: ${kind}, ${code}`);
    this.kind = kind;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

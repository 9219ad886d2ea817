// Names of claims that have a meaning already. It must not know which claims an account has.
import { Introspection } from '@castellan/contract/oauth';

/**
 * Names that applications and libraries give a meaning: of JWTs and tokens (RFC 7519, 7662, 7800, 8693, 9068), of ID tokens and
 * users (OpenID Connect Core, 2 and 5.1; Back-Channel Logout, 2.4; Identity Assurance, 5; RFC 8485), those that this service tells
 * itself, and what every object of JavaScript has.
 */
const reserved: ReadonlySet<string> = new Set(
  `iss sub aud exp nbf iat jti
  active username token_type client_id scope cnf act may_act authorization_details
  nonce auth_time acr amr azp at_hash c_hash s_hash sid events toe txn sub_id sub_jwk _claim_names _claim_sources
  name given_name family_name middle_name nickname preferred_username profile picture website email email_verified gender
  birthdate zoneinfo locale phone_number phone_number_verified address updated_at
  roles groups permissions entitlements step_up vot vtm verified_claims constructor __proto__`.split(/\s+/),
);
const OWN_PREFIX = '_castellan';

export const isReservedClaim = (name: string): boolean => reserved.has(name) || name.startsWith(OWN_PREFIX);

/** Introspection tells attributes beside its own members, which no user may write. */
const toldByIntrospection: ReadonlySet<string> = new Set(Object.keys(Introspection.properties));

/** As `isReservedClaim`, for the name of an attribute. */
export const isReservedAttribute = (name: string): boolean =>
  isReservedClaim(name) || toldByIntrospection.has(name);

// Which claims an application may be told beyond those of the scopes: none that has another meaning.
// It must not compute a claim.
import type { ClaimMapping } from '@castellan/contract/application-claims';
import { refusal } from './refusal.ts';

const NAME = /^[\w.:/-]+$/;

/**
 * Names that applications and libraries give a meaning: of JWTs and tokens (RFC 7519, 7662, 7800, 8693, 9068), of ID tokens and
 * users (OpenID Connect Core, 2 and 5.1; Back-Channel Logout, 2.4), and those that this service tells itself.
 */
const reserved: ReadonlySet<string> = new Set(
  `iss sub aud exp nbf iat jti
  active username token_type client_id scope cnf act may_act authorization_details
  nonce auth_time acr amr azp at_hash c_hash s_hash sid events toe txn sub_id sub_jwk _claim_names _claim_sources
  name given_name family_name middle_name nickname preferred_username profile picture website email email_verified gender
  birthdate zoneinfo locale phone_number phone_number_verified address updated_at
  roles groups permissions entitlements __proto__`.split(/\s+/),
);
const OWN_PREFIX = '_castellan';

/** A JSON object moves such members to its beginning. */
const WHOLE_NUMBER = /^(?:0|[1-9]\d*)$/;
const MAX_NAME_LENGTH = 250;

/** Returns the mappings without repetitions. Throws `validation_failed` (422), which names the field. */
export function cleanMappings(mappings: readonly ClaimMapping[], field: string): ClaimMapping[] {
  const names = new Set<string>();
  return mappings.map((mapping, index) => {
    const { name, from, match, map, as, in: places, scope } = mapping;
    const at = (member: string): string => `${field}.${index}.${member}`;
    if (!NAME.test(name))
      throw refusal(at('name'), 'invalid_name', 'must have letters, digits, and _ . : / - only');
    if (reserved.has(name) || name.startsWith(OWN_PREFIX))
      throw refusal(at('name'), 'reserved_name', 'has another meaning already; choose another name');
    if (names.has(name)) throw refusal(at('name'), 'duplicate', 'must be the name of one claim only');
    names.add(name);
    for (const key of Object.keys(map ?? {})) {
      if (WHOLE_NUMBER.test(key))
        throw refusal(at('map'), 'whole_number', 'cannot have a whole number as a name, which has no order');
      if (key === '' || key.length > MAX_NAME_LENGTH)
        throw refusal(at('map'), 'invalid_name', `must have names of 1 to ${MAX_NAME_LENGTH} characters`);
    }
    return {
      name,
      from,
      ...(match === undefined ? {} : { match }),
      ...(map === undefined ? {} : { map }),
      as,
      in: [...new Set(places)],
      ...(scope === undefined ? {} : { scope }),
    };
  });
}

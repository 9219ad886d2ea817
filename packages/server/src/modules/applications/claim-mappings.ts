// Which claims an application may be told beyond those of the scopes: none that has another meaning.
// It must not compute a claim.
import type { ClaimMapping } from '@castellan/contract/application-claims';
import { isReservedClaim } from '../user-attributes/service.ts';
import { refusal } from './refusal.ts';

const NAME = /^[\w.:/-]+$/;

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
      throw refusal(at('name'), 'unsafe_name', 'must have letters, digits, and _ . : / - only');
    if (isReservedClaim(name))
      throw refusal(at('name'), 'reserved_name', 'has another meaning already; choose another name');
    if (names.has(name)) throw refusal(at('name'), 'duplicate', 'must be the name of one claim only');
    names.add(name);
    for (const key of Object.keys(map ?? {})) {
      if (WHOLE_NUMBER.test(key))
        throw refusal(at('map'), 'whole_number', 'cannot have a whole number as a name, which has no order');
      if (key === '' || key.length > MAX_NAME_LENGTH)
        throw refusal(at('map'), 'unsafe_name', `must have names of 1 to ${MAX_NAME_LENGTH} characters`);
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

// Reads single members of what a provider says. It must not decide what they are good for.

type Members = Readonly<Record<string, unknown>>;

/** Returns a text; null if it is missing, empty, no text, or one that the database cannot store. */
export function textIn(members: Members, name: string): string | null {
  const value = members[name];
  return typeof value === 'string' && value !== '' && value.isWellFormed() && !value.includes('\0')
    ? value
    : null;
}

/** Returns the names. A `name` alone is divided at its last space. */
export function namesIn(members: Members): {
  firstName: string | null;
  lastName: string | null;
  displayName: string | null;
} {
  const name = textIn(members, 'name')?.trim() || null;
  const first = textIn(members, 'given_name');
  const last = textIn(members, 'family_name');
  const joined = [first, last].filter((one) => one !== null).join(' ') || null;
  if (first !== null || last !== null || name === null)
    return { firstName: first, lastName: last, displayName: name ?? joined };
  const at = name.lastIndexOf(' ');
  return at === -1
    ? { firstName: name, lastName: null, displayName: name }
    : { firstName: name.slice(0, at).trimEnd(), lastName: name.slice(at + 1), displayName: name };
}

/** Returns whether the claim is there: a member of this name, or one that the dots lead to. */
export function hasClaim(members: Members, claim: string): boolean {
  if (Object.hasOwn(members, claim)) return true;
  const [first = '', ...rest] = claim.split('.');
  const inside = Object.hasOwn(members, first) ? members[first] : undefined;
  return rest.length > 0 && typeof inside === 'object' && inside !== null
    ? hasClaim(inside as Members, rest.join('.'))
    : false;
}

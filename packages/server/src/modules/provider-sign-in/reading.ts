// Reads what a provider said of a person by the record of the provider: which address counts, what they may be called, which
// roles their claims stand for. It is pure, and believes nothing that the record does not say.
import { canonicalEmail } from '../../platform/security/email.ts';
import { cleanText } from '../../platform/security/text.ts';
import { isObject } from '../../platform/unknown-values.ts';
import type { ProviderRow } from '../identity-providers/store.ts';
import type { Assertion } from '../identity-providers/upstream/assertion.ts';

/** What is kept of an assertion. */
export type Proven = {
  issuer: string;
  subject: string;
  /** Canonical; as the provider said. It may belong to somebody else. */
  email: string | null;
  /** Whether the record trusts the provider with this address. */
  isTrusted: boolean;
  /** An address that forwards to another one. Rules for domains do not take it. */
  isRelay: boolean;
  names: { first_name?: string; last_name?: string };
  displayName: string | null;
  /** Whether the provider asked for a second factor that counts here. */
  hasMfa: boolean;
  /** When they signed in there, by our clock, in milliseconds since the epoch; when the provider answered if it does not tell. */
  signedInAt: number;
  roles: RoleClaims;
  sid: string | null;
  /** A secret. Null unless it is needed for signing out there. */
  idToken: string | null;
};

/** What the claims say about the roles that the mapping names. A role in neither list stays as it is. */
type RoleClaims = {
  given: string[];
  /** Each of their claims is there, and none says so. */
  taken: string[];
  /** Claims that are missing, or are neither a text nor a list. */
  missing: string[];
};

// As the constraint of identities has it.
const MAX_SUBJECT = 400;
const MAX_ISSUER = 2_000;
const MAX_SID = 500;
const MAX_NAME = 100;
const MAX_DISPLAY_NAME = 250;
// A token over it is of no use to sign out: it has to travel in an address.
const MAX_ID_TOKEN = 8_000;

/** Returns null if the identity is none that can be kept. `now`: when the provider answered. */
export function provenBy(provider: ProviderRow, assertion: Assertion, now: number): Proven | null {
  const { issuer, subject, sid, idToken } = assertion;
  if (!isKey(issuer, MAX_ISSUER) || !isKey(subject, MAX_SUBJECT)) return null;
  const email = assertion.email === null ? null : canonicalEmail(assertion.email);
  const isRelay = assertion.emailIsRelay;
  return {
    issuer,
    subject,
    email,
    isRelay,
    isTrusted:
      provider.email_trust === 'domains' &&
      email !== null &&
      assertion.emailVerified &&
      isOfDomains(provider, { email, isRelay }),
    names: namesOf(assertion),
    displayName: cleaned(assertion.displayName, MAX_DISPLAY_NAME),
    hasMfa: [assertion.acr ?? [], assertion.amr].flat().some((value) => isSecondFactor(provider, value)),
    signedInAt: now - (assertion.ageSeconds ?? 0) * 1_000,
    roles: roleClaims(provider, assertion.claims),
    sid: sid !== null && isKey(sid, MAX_SID) ? sid : null,
    idToken:
      provider.logout === 'upstream' && idToken !== null && isKey(idToken, MAX_ID_TOKEN) ? idToken : null,
  };
}

/** PostgreSQL keeps neither NUL nor lone surrogates, and two texts must not become one. */
const isKey = (text: string, max: number): boolean =>
  text !== '' && text.length <= max && !text.includes('\0') && text.isWellFormed();

const isSecondFactor = ({ acr_mapping: levels }: ProviderRow, value: string): boolean =>
  Object.hasOwn(levels, value) && levels[value] === 'aal2';

/** Compared exactly: a subdomain is another domain. */
const isOfDomains = (
  { domains }: Pick<ProviderRow, 'domains'>,
  { email, isRelay }: { email: string; isRelay: boolean },
): boolean => !isRelay && domains.includes(email.slice(email.lastIndexOf('@') + 1));

/** Whether the provider's people get an account with this address, which is proved. */
export const mayAddAccount = (
  provider: Pick<ProviderRow, 'sign_up' | 'domains'>,
  address: { email: string; isRelay: boolean },
): boolean =>
  provider.sign_up === 'everyone' || (provider.sign_up === 'domains' && isOfDomains(provider, address));

function cleaned(text: string | null, max: number): string | null {
  if (text === null) return null;
  const result = cleanText(text, { min: 1, max });
  return result.ok ? result.value : null;
}

/** Leaves out names that break the rules for names. */
function namesOf({
  firstName,
  lastName,
  displayName,
}: Pick<Assertion, 'firstName' | 'lastName' | 'displayName'>): Proven['names'] {
  const [first, last] = [cleaned(firstName, MAX_NAME), cleaned(lastName, MAX_NAME)];
  if (first !== null) return { first_name: first, ...(last === null ? {} : { last_name: last }) };
  const whole = cleaned(displayName, MAX_NAME);
  return whole === null ? {} : { first_name: whole };
}

/**
 * Returns the value of a claim: the member of that name, or, dots leading into objects, of the objects in it. Undefined if it is
 * missing. Members that an object inherits are none.
 */
function claimAt(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  // Names of claims may be addresses, which have dots.
  if (Object.hasOwn(claims, name)) return claims[name];
  const dot = name.indexOf('.');
  const first = name.slice(0, dot);
  const inside = dot > 0 && Object.hasOwn(claims, first) ? claims[first] : undefined;
  return isObject(inside) && !Array.isArray(inside) ? claimAt(inside, name.slice(dot + 1)) : undefined;
}

/**
 * Returns the texts of a claim in lower case; null if it is neither a text nor a list, or a list of other things alone: that
 * it has no text says nothing about roles.
 */
function textsOf(value: unknown): ReadonlySet<string> | null {
  if (typeof value === 'string') return new Set([value.toLowerCase()]);
  if (!Array.isArray(value)) return null;
  const texts = value.filter((one) => typeof one === 'string');
  return texts.length === 0 && value.length > 0 ? null : new Set(texts.map((one) => one.toLowerCase()));
}

function roleClaims({ role_mapping: mapping }: ProviderRow, claims: Assertion['claims']): RoleClaims {
  const values = new Map(
    [...new Set(mapping.map(({ claim }) => claim))].map((claim) => [claim, textsOf(claimAt(claims, claim))]),
  );
  const given = new Set<string>();
  const open = new Set<string>();
  for (const { claim, equals, role_id: roleId } of mapping) {
    const texts = values.get(claim) ?? null;
    if (texts === null) open.add(roleId);
    else if (texts.has(equals.toLowerCase())) given.add(roleId);
  }
  const named = [...new Set(mapping.map(({ role_id }) => role_id))];
  return {
    given: [...given],
    taken: named.filter((id) => !given.has(id) && !open.has(id)),
    missing: [...values].filter(([, texts]) => texts === null).map(([claim]) => claim),
  };
}

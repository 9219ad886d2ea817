// What the members of ID token and userinfo mean at each kind of provider. It must not talk to a provider.
import { isObject } from '../../../platform/unknown-values.ts';
import { type Assertion, UpstreamError, type UpstreamProvider } from './assertion.ts';
import { ownsDomain, tenantOf } from './microsoft.ts';
import { namesIn, textIn } from './said.ts';

type Members = Readonly<Record<string, unknown>>;

export type Said = {
  idToken: Members;
  /** Of the same person; null if it was not asked. */
  userinfo: Members | null;
  /** What the browser brought, of which nothing is signed. */
  parameters: URLSearchParams;
};

/** How the address is known to be theirs. */
type Verified = (members: Members) => boolean;

const RELAY = /@privaterelay\.appleid\.com$/i;
/** Domains whose addresses Google gives out. */
const OF_GOOGLE = /@(?:gmail|googlemail)\.com$/i;
/** The database stores up to 400. Core, 2 allows 255. */
const MAX_SUBJECT = 300;
const MAX_SID = 400;

/** Returns what the provider said. Throws UpstreamError if a rule of its kind forbids it. */
export function assertionOf(provider: UpstreamProvider, said: Said): Omit<Assertion, 'idToken'> {
  const { idToken, userinfo } = said;
  const { verified, subject, names } = kinds[provider.kind] ?? kinds.oidc;
  const { email, emailVerified } = addressIn(said, verified);
  if (provider.kind === 'google') requireOrganization(provider, idToken, email);
  const sid = textIn(idToken, 'sid');
  return {
    issuer: String(idToken.iss),
    subject: subjectIn(subject(provider, idToken)),
    email,
    emailVerified,
    emailIsRelay: provider.kind === 'apple' && email !== null && isRelay(email, idToken),
    ...names(said),
    claims: claimsIn(idToken, userinfo),
    acr: textIn(idToken, 'acr'),
    amr: Array.isArray(idToken.amr) ? idToken.amr.filter((one) => typeof one === 'string') : [],
    ageSeconds: ageIn(idToken),
    sid: sid !== null && sid.length <= MAX_SID ? sid : null,
  };
}

const ageIn = ({ iat, auth_time: at }: Members): number | null =>
  typeof iat === 'number' && typeof at === 'number' ? Math.max(0, iat - at) : null;

type Rules = {
  verified: Verified;
  subject(provider: UpstreamProvider, idToken: Members): unknown;
  names(said: Said): Pick<Assertion, 'firstName' | 'lastName' | 'displayName'>;
};

const namesOf = ({ idToken, userinfo }: Said) => namesIn({ ...userinfo, ...idToken });

const kinds: Record<string, Rules> & { oidc: Rules } = {
  oidc: {
    verified: ({ email_verified: told }) => told === true,
    subject: (_provider, { sub }) => sub,
    names: namesOf,
  },
  google: {
    verified: ({ email_verified: told }) => told === true,
    subject: (_provider, { sub }) => sub,
    names: namesOf,
  },
  microsoft: {
    verified: ownsDomain,
    subject: (provider, idToken) => {
      const oid = textIn(idToken, 'oid');
      return oid === null ? null : `${tenantOf(provider, idToken)}:${oid.toLowerCase()}`;
    },
    names: namesOf,
  },
  apple: {
    verified: ({ email_verified: told }) => told === true || told === 'true',
    subject: (_provider, { sub }) => sub,
    names: ({ parameters }) => namesOfApple(parameters.get('user')),
  },
};

function subjectIn(subject: unknown): string {
  const text = textIn({ subject }, 'subject');
  if (text === null || text.length > MAX_SUBJECT) throw new UpstreamError('unacceptable', 'no_subject');
  return text;
}

/** Returns the address of the ID token, else that of userinfo. What one says of an address counts for the same address in the other. */
function addressIn(
  { idToken, userinfo }: Said,
  isVerified: Verified,
): Pick<Assertion, 'email' | 'emailVerified'> {
  const sources = userinfo === null ? [idToken] : [idToken, userinfo];
  const email = sources.map((one) => textIn(one, 'email')).find((one) => one !== null) ?? null;
  const emailVerified = sources.some((one) => email !== null && one.email === email && isVerified(one));
  return { email, emailVerified };
}

const isRelay = (email: string, { is_private_email: told }: Members): boolean =>
  RELAY.test(email) || told === true || told === 'true';

/**
 * A Google account may have any address; that somebody read mail there once says nothing about today. Only `hd` says that the
 * organization of the domain runs the account.
 */
function requireOrganization({ domains }: UpstreamProvider, { hd }: Members, email: string | null): void {
  if (domains.length === 0 || (email !== null && OF_GOOGLE.test(email))) return;
  if (typeof hd !== 'string' || !domains.includes(hd.toLowerCase()))
    throw new UpstreamError('unacceptable', 'hd_not_listed');
}

/** Apple sends the name in a field of the form, and only the first time. */
function namesOfApple(user: string | null): ReturnType<Rules['names']> {
  try {
    const read: unknown = JSON.parse(user ?? '');
    const name = isObject(read) && isObject(read.name) ? read.name : {};
    return namesIn({ given_name: name.firstName, family_name: name.lastName });
  } catch {
    return namesIn({});
  }
}

/** Names of claims that are not in the token, but somewhere else: too many groups, for example (Core, 5.6.2). */
export const namedElsewhere = ({ _claim_names: names }: Members): readonly string[] =>
  isObject(names) ? Object.keys(names) : [];

function claimsIn(idToken: Members, userinfo: Members | null): Members {
  const claims: Record<string, unknown> = { ...userinfo, ...idToken };
  for (const name of namedElsewhere(idToken)) delete claims[name];
  return claims;
}

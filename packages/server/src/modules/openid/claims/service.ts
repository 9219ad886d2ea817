// What tokens and userinfo tell an application about an account (OpenID Connect Core, 5).
// It must not read the database: what an account is and holds is read with its grant.
import type { ClaimMapping } from '@castellan/contract/application-claims';
import type { Userinfo } from '@castellan/contract/openid-tokens';
import { shownEmail } from '../../../platform/security/email.ts';
import { grantOf, rolesOf } from '../../authz/effective.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { everywhere } from '../../authz/scope.ts';
import { subjectOf } from '../subjects.ts';
import type { ClaimedAccount, KnownAccount } from './account-columns.ts';
import { mappedValue } from './mappings.ts';
import type { ToldClaims } from './token-size.ts';

export { meetsRule } from './access-rule.ts';
export { accountColumns, type KnownAccount } from './account-columns.ts';
export { askedOf, toldAcr, valuesIn } from './requested.ts';
export { fittedToToken } from './token-size.ts';

const byScope = {
  profile: ['name', 'given_name', 'family_name', 'preferred_username', 'locale', 'updated_at'],
  email: ['email', 'email_verified'],
  roles: ['roles'],
  groups: ['groups'],
  permissions: ['permissions'],
} as const;
type ClaimingScope = keyof typeof byScope;
type Claim = (typeof byScope)[ClaimingScope][number];
/** The claims of an account. Absent: there is no value. */
type AccountClaims = Pick<Userinfo, Claim>;

const isClaiming = (scope: string): scope is ClaimingScope => Object.hasOwn(byScope, scope);

/** Every claim of an account that a scope or the parameter `claims` can bring. */
export const accountClaims: readonly Claim[] = Object.values(byScope).flat();

/** Where claims are told. */
export type Place = 'id_token' | 'userinfo' | 'access_token';

/** The parameter `claims`, as it was sent (OpenID Connect Core, 5.5). */
type RequestedClaims = { readonly [place in Place]?: unknown } | null;

/** Returns the scopes that bring a claim. */
const scopesOf = (name: string, mappings: readonly ClaimMapping[]): string[] => [
  ...Object.entries(byScope).flatMap(([scope, names]) => (names.some((one) => one === name) ? [scope] : [])),
  ...mappings.flatMap((one) => (one.name === name && one.scope !== undefined ? [one.scope] : [])),
];

const membersOf = (requested: RequestedClaims, place: Place): [name: string, asked: unknown][] => {
  const members = requested?.[place];
  return typeof members === 'object' && members !== null ? Object.entries(members) : [];
};

/** Returns the scopes that the parameter `claims` asks for claims of. */
export const scopesOfRequested = (
  requested: RequestedClaims,
  mappings: readonly ClaimMapping[],
): ReadonlySet<string> =>
  new Set(
    (['id_token', 'userinfo'] as const)
      .flatMap((place) => membersOf(requested, place))
      .flatMap(([name]) => scopesOf(name, mappings)),
  );

/** Returns what the parameter `claims` asks for of these scopes. */
export function requestedWithin(
  requested: RequestedClaims,
  scopes: readonly string[],
  mappings: readonly ClaimMapping[],
): Record<string, unknown> {
  const isWithin = ([name]: [name: string, asked: unknown]): boolean => {
    const needed = scopesOf(name, mappings);
    return needed.length > 0 && needed.every((scope) => scopes.includes(scope));
  };
  const within = (place: Place) => Object.fromEntries(membersOf(requested, place).filter(isWithin));
  return { id_token: within('id_token'), userinfo: within('userinfo') };
}

export type ClaimChoice = {
  /** What the grant has, and the application may have. */
  scopes: readonly string[];
  /** What the application may ask for. */
  allowedScopes: readonly string[];
  requested: RequestedClaims;
  /** Whether an ID token has the claims of the scopes. */
  idTokenClaims: string;
  mappings: readonly ClaimMapping[];
};

/**
 * Returns the attributes that the application may be told. A name that it maps is the mapping's alone, also where that has no value: an API
 * takes the claim for what the mapping makes of roles, and people may write some attributes themselves.
 */
export function attributesIn(
  { attribute_claims }: Pick<ClaimedAccount, 'attribute_claims'>,
  mappings: readonly ClaimMapping[],
): ToldClaims {
  const mapped = new Set(mappings.map(({ name }) => name));
  return Object.fromEntries(Object.entries(attribute_claims).filter(([name]) => !mapped.has(name)));
}

/** Returns the claims of an account that are told in this place. */
export function claimsIn(
  place: Place,
  { scopes, allowedScopes, requested, idTokenClaims, mappings }: ClaimChoice,
  account: ClaimedAccount,
  graph: Graph,
): ToldClaims {
  const isTold = place === 'userinfo' || (place === 'id_token' && idTokenClaims === 'all');
  const ofScopes = isTold ? scopes : [];
  const names = new Set<Claim>(ofScopes.filter(isClaiming).flatMap((scope) => byScope[scope]));
  const members = requested?.[place];
  const isAsked = (name: string): boolean =>
    typeof members === 'object' && members !== null && Object.hasOwn(members, name);
  for (const scope of allowedScopes.filter(isClaiming))
    for (const name of byScope[scope]) if (isAsked(name)) names.add(name);
  const all = namesWith(account, graph);
  const mapped = mappings
    .filter(({ name, in: places, scope }) => {
      if (!places.includes(place)) return false;
      return scope === undefined || (isAsked(name) ? allowedScopes : scopes).includes(scope);
    })
    .map((mapping) => [mapping.name, mappedValue(mapping, account, graph)]);
  const told = [
    ...accountClaims.filter((name) => names.has(name)).map((name) => [name, all[name]]),
    // Attributes belong to the profile.
    ...(ofScopes.includes('profile') ? Object.entries(attributesIn(account, mappings)) : []),
    ...mapped,
  ];
  return Object.fromEntries(told.filter(([, value]) => value !== undefined));
}

/** Returns the names of those of the permissions that the account holds, sorted. */
const heldAmong = (graph: Graph, account: ClaimedAccount, ids: readonly string[]): string[] =>
  graph.permissions.namesOf(new Set(ids.filter((id) => grantOf(graph, everywhere(account), id) !== null)));

const NO_SALT = Buffer.alloc(0);

/** Returns the `sub` by which the application knows the account. */
export function subjectIn({
  salt,
  user_id,
  subject_type,
  sector,
}: Pick<KnownAccount, 'salt' | 'user_id' | 'subject_type' | 'sector'>): string {
  if (subject_type === 'pairwise' && salt === null)
    throw new Error(
      'the salt of pairwise subjects is missing: restore the table pairwise_salt from a backup',
    );
  return subjectOf({ subject_type, sector }, user_id, salt ?? NO_SALT);
}

function namesWith(account: ClaimedAccount, graph: Graph): AccountClaims {
  const { first_name, last_name, language } = account;
  const name = [first_name, last_name].filter((part) => part !== '').join(' ');
  const email = shownEmail(account.email);
  return {
    ...(name === '' ? {} : { name }),
    ...(first_name === '' ? {} : { given_name: first_name }),
    ...(last_name === '' ? {} : { family_name: last_name }),
    preferred_username: email,
    ...(language === null ? {} : { locale: language }),
    updated_at: Math.floor(account.updated_at.getTime() / 1_000),
    email,
    email_verified: account.verified,
    roles: rolesOf(graph, account).map((role) => role.name),
    groups: [...new Set(account.group_names)].sort(),
    permissions: heldAmong(graph, account, account.claimable_permission_ids),
  };
}

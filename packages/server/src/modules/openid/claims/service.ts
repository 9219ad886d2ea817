// What tokens and userinfo tell an application about an account (OpenID Connect Core, 5).
// It must not read the database: what an account is and holds is read with its grant.
import type { Userinfo } from '@castellan/contract/openid-tokens';
import { shownEmail } from '../../../platform/security/email.ts';
import { rolesOf, type Subject } from '../../authz/effective.ts';
import type { Graph } from '../../authz/graph/graph.ts';

/** What claims are made of. `group_names`: of the role groups of its roles, with all their ancestors, in any order. */
export type ClaimedAccount = Pick<Subject, 'is_superuser' | 'role_ids'> & {
  email: string;
  first_name: string;
  last_name: string;
  verified: boolean;
  language: string | null;
  updated_at: Date;
  group_names: readonly string[];
};

const byScope = {
  profile: ['name', 'given_name', 'family_name', 'preferred_username', 'locale', 'updated_at'],
  email: ['email', 'email_verified'],
  roles: ['roles'],
  groups: ['groups'],
} as const;
type ClaimingScope = keyof typeof byScope;
type Claim = (typeof byScope)[ClaimingScope][number];
/** The claims of an account. Absent: there is no value. */
export type AccountClaims = Pick<Userinfo, Claim>;

const isClaiming = (scope: string): scope is ClaimingScope => Object.hasOwn(byScope, scope);

/** Every claim of an account that a scope or the parameter `claims` can bring. */
export const accountClaims: readonly Claim[] = Object.values(byScope).flat();

/** Where claims are told. */
export type Place = 'id_token' | 'userinfo';

/** The parameter `claims`, as it was sent (OpenID Connect Core, 5.5). */
type RequestedClaims = { readonly [place in Place]?: unknown } | null;

export type ClaimChoice = {
  /** What the grant has, and the application may have. */
  scopes: readonly string[];
  /** What the application may ask for. */
  allowedScopes: readonly string[];
  requested: RequestedClaims;
  /** Whether an ID token has the claims of the scopes. */
  idTokenClaims: 'all' | 'minimal';
};

/** Returns the claims of an account that are told in this place. */
export function claimsIn(
  place: Place,
  { scopes, allowedScopes, requested, idTokenClaims }: ClaimChoice,
  account: ClaimedAccount,
  graph: Graph,
): AccountClaims {
  const ofScopes = place === 'userinfo' || idTokenClaims === 'all' ? scopes : [];
  const names = new Set<Claim>(ofScopes.filter(isClaiming).flatMap((scope) => byScope[scope]));
  const asked = requested?.[place];
  for (const scope of allowedScopes.filter(isClaiming))
    for (const name of byScope[scope])
      if (typeof asked === 'object' && asked !== null && Object.hasOwn(asked, name)) names.add(name);
  const all = namesWith(account, graph);
  return Object.fromEntries(
    accountClaims.flatMap((name) => (names.has(name) && all[name] !== undefined ? [[name, all[name]]] : [])),
  );
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
  };
}

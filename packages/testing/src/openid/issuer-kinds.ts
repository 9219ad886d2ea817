// Where the kinds of identity providers have what, and what they say of a person, after their public documents:
// developers.google.com/identity/openid-connect, learn.microsoft.com/entra/identity-platform/v2-protocols-oidc,
// docs.github.com/apps/oauth-apps/building-oauth-apps, developer.apple.com/documentation/signinwithapple.
export type Endpoint = 'discovery' | 'jwks' | 'token' | 'userinfo' | 'emails' | 'api';
export type Person = Record<string, unknown> & { sub: string };

export type IssuerKind = 'oidc' | 'google' | 'microsoft' | 'github' | 'apple';

export type Layout = {
  /** As in the discovery document. */
  issuer: string;
  /** As in tokens. */
  issuerOf(person: Person): string;
  /** The `iss` parameter that the browser brings, where the provider sends one. */
  iss: string | undefined;
  /** Paths, on whatever host. */
  endpoints: ReadonlyMap<string, Endpoint>;
  authorizePath: string;
  /** The hosts that the addresses in the document name. */
  origins: readonly string[];
  metadata: Record<string, unknown>;
  person: Person;
  /** What else the browser brings. */
  response?(): Record<string, unknown>;
  /** No ID token, and errors with status 200. */
  isPlainOAuth?: boolean;
};

const TENANT = '3f1a5d2c-7a55-4f0e-9a39-0c7c5b6f2a11';

const pathOf = (url: string): string => new URL(url).pathname;

const common = {
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256'],
  scopes_supported: ['openid', 'email', 'profile'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
  code_challenge_methods_supported: ['S256'],
};

type Addresses = { discovery: string; authorize: string; token: string; jwks?: string; userinfo?: string };

function placed({ discovery, authorize, token, jwks, userinfo }: Addresses, more: [string, Endpoint][] = []) {
  const named: [string | undefined, Endpoint][] = [
    [discovery, 'discovery'],
    [token, 'token'],
    [jwks, 'jwks'],
    [userinfo, 'userinfo'],
    ...more,
  ];
  const known = named.filter((one): one is [string, Endpoint] => one[0] !== undefined);
  return {
    endpoints: new Map(known.map(([address, endpoint]) => [pathOf(address), endpoint])),
    authorizePath: pathOf(authorize),
    origins: [
      ...new Set([...known.map(([address]) => address), authorize].map((one) => new URL(one).origin)),
    ],
    metadata: {
      ...common,
      authorization_endpoint: authorize,
      token_endpoint: token,
      jwks_uri: jwks,
      userinfo_endpoint: userinfo,
    },
  };
}

function oidc(issuer: string): Layout {
  const base = issuer.replace(/\/$/, '');
  const { metadata, ...rest } = placed({
    discovery: `${base}/.well-known/openid-configuration`,
    authorize: `${base}/authorize`,
    token: `${base}/token`,
    jwks: `${base}/keys`,
    userinfo: `${base}/userinfo`,
  });
  return {
    issuer,
    issuerOf: () => issuer,
    iss: issuer,
    ...rest,
    origins: [],
    metadata: {
      issuer,
      ...metadata,
      end_session_endpoint: `${base}/logout`,
      authorization_response_iss_parameter_supported: true,
    },
    person: {
      sub: 'ada-1815',
      name: 'Ada Lovelace',
      given_name: 'Ada',
      family_name: 'Lovelace',
      email: 'ada@example.com',
      email_verified: true,
    },
  };
}

function google(): Layout {
  const issuer = 'https://accounts.google.com';
  const { metadata, ...rest } = placed({
    discovery: `${issuer}/.well-known/openid-configuration`,
    authorize: `${issuer}/o/oauth2/v2/auth`,
    token: 'https://oauth2.googleapis.com/token',
    jwks: 'https://www.googleapis.com/oauth2/v3/certs',
    userinfo: 'https://openidconnect.googleapis.com/v1/userinfo',
  });
  return {
    issuer,
    issuerOf: () => issuer,
    iss: undefined,
    ...rest,
    metadata: { issuer, ...metadata },
    person: {
      sub: '10769150350006150715113082367',
      hd: 'example.com',
      email: 'ada@example.com',
      email_verified: true,
      name: 'Ada Lovelace',
      given_name: 'Ada',
      family_name: 'Lovelace',
    },
  };
}

function microsoft(): Layout {
  const host = 'https://login.microsoftonline.com';
  const issuer = `${host}/{tenantid}/v2.0`;
  const { metadata, ...rest } = placed(
    {
      discovery: `${host}/organizations/v2.0/.well-known/openid-configuration`,
      authorize: `${host}/organizations/oauth2/v2.0/authorize`,
      token: `${host}/organizations/oauth2/v2.0/token`,
      jwks: `${host}/organizations/discovery/v2.0/keys`,
      userinfo: 'https://graph.microsoft.com/oidc/userinfo',
    },
    ['common', TENANT].map((tenant) => [
      `${host}/${tenant}/v2.0/.well-known/openid-configuration`,
      'discovery',
    ]),
  );
  return {
    issuer,
    issuerOf: ({ tid }) => `${host}/${tid}/v2.0`,
    iss: undefined,
    ...rest,
    metadata: { issuer, ...metadata, code_challenge_methods_supported: undefined },
    person: {
      sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
      oid: '00000000-0000-0000-66f3-3332eca7ea81',
      tid: TENANT,
      name: 'Ada Lovelace',
      preferred_username: 'ada@example.com',
      email: 'ada@example.com',
      xms_edov: true,
    },
  };
}

function github(): Layout {
  const { metadata, ...rest } = placed(
    {
      discovery: 'https://github.com/.well-known/oauth-authorization-server/login/oauth',
      authorize: 'https://github.com/login/oauth/authorize',
      token: 'https://github.com/login/oauth/access_token',
      userinfo: 'https://api.github.com/user',
    },
    [
      ['https://api.github.com/user/emails', 'emails'],
      ['https://api.github.com/', 'api'],
    ],
  );
  const issuer = 'https://github.com/login/oauth';
  return {
    issuer,
    issuerOf: () => issuer,
    iss: issuer,
    ...rest,
    metadata: { issuer, ...metadata },
    isPlainOAuth: true,
    person: {
      sub: '583231',
      id: 583_231,
      login: 'ada',
      name: 'Ada Lovelace',
      email: null,
      emails: [
        { email: 'ada@home.example', primary: false, verified: true, visibility: null },
        { email: 'ada@example.com', primary: true, verified: true, visibility: 'private' },
      ],
    },
  };
}

function apple(): Layout {
  const issuer = 'https://appleid.apple.com';
  const { metadata, ...rest } = placed({
    discovery: `${issuer}/.well-known/openid-configuration`,
    authorize: `${issuer}/auth/authorize`,
    token: `${issuer}/auth/token`,
    jwks: `${issuer}/auth/keys`,
  });
  return {
    issuer,
    issuerOf: () => issuer,
    iss: undefined,
    ...rest,
    metadata: {
      issuer,
      ...metadata,
      response_modes_supported: ['query', 'fragment', 'form_post'],
      token_endpoint_auth_methods_supported: ['client_secret_post'],
      code_challenge_methods_supported: undefined,
    },
    person: {
      sub: '001044.3d2b8e9d4f6a4b6c9a6d2a1b8f0c7e55.1815',
      email: 'k2f9xq7d4m@privaterelay.appleid.com',
      email_verified: 'true',
      is_private_email: 'true',
      nonce_supported: true,
    },
    // Only the first time, and not signed.
    response: () => ({ user: JSON.stringify({ name: { firstName: 'Ada', lastName: 'Lovelace' } }) }),
  };
}

const kinds = { google, microsoft, github, apple };

/** `url` is the issuer of kind `oidc`; the others have their own. */
export const layoutOf = (kind: IssuerKind, url: string): Layout =>
  kind === 'oidc' ? oidc(url) : kinds[kind]();

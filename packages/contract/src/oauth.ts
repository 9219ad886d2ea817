// Schemas of the token services, which have the shapes of OAuth 2.0 (RFC 6749, 7009, 7662 and 8414) and no envelope.
// They must not limit texts: the server decides which error a value gets.
import Type from 'typebox';

const ID = '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be210';
const ACCESS_TOKEN = 'eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9…';

/** How a service account or an application authenticates itself unless it sends an Authorization header. */
const clientFields = {
  client_id: Type.Optional(
    Type.String({
      description:
        'Id of the service account, or client_id of the application, unless the Authorization header has it.',
    }),
  ),
  client_secret: Type.Optional(
    Type.String({
      description:
        'An API key of the service account, or a secret of the application, unless the Authorization header has it.',
    }),
  ),
  client_assertion: Type.Optional(
    Type.String({
      description:
        'For an application with `private_key_jwt`: a JWT signed by its key, which counts once (RFC 7523).',
    }),
  ),
  client_assertion_type: Type.Optional(
    Type.String({
      description: 'With `client_assertion`: `urn:ietf:params:oauth:client-assertion-type:jwt-bearer`.',
    }),
  ),
};

export const TokenRequest = Type.Object(
  {
    grant_type: Type.String({
      description:
        '`client_credentials` for a service account; `authorization_code`, `refresh_token` or `urn:ietf:params:oauth:grant-type:device_code` for an application.',
    }),
    scope: Type.Optional(
      Type.String({
        description:
          'With `refresh_token`: a part of the granted scopes, separated by spaces, for this access token. Default: all. Otherwise leave it out.',
      }),
    ),
    code: Type.Optional(
      Type.String({ description: 'With `authorization_code`. It counts once, for 60 seconds.' }),
    ),
    redirect_uri: Type.Optional(
      Type.String({ description: 'With `authorization_code`: as in the authorization request.' }),
    ),
    code_verifier: Type.Optional(
      Type.String({
        description: 'With `authorization_code`: the PKCE verifier (RFC 7636), if there was a challenge.',
      }),
    ),
    refresh_token: Type.Optional(Type.String({ description: 'With `refresh_token`.' })),
    device_code: Type.Optional(
      Type.String({
        description:
          'With the grant type of devices: as `/api/v1/oauth/device_authorization` returned it. It counts once.',
      }),
    ),
    resource: Type.Optional(
      Type.String({
        description:
          'The identifier of an API resource that the authorization named (RFC 8707): the access token is a JWT for it. Default: a token for userinfo.',
      }),
    ),
    ...clientFields,
  },
  {
    title: 'TokenRequest',
    examples: [{ grant_type: 'client_credentials', client_id: ID, client_secret: 'castellan_4fT9…' }],
  },
);
export type TokenRequest = Type.Static<typeof TokenRequest>;

export const TokenResponse = Type.Object(
  {
    access_token: Type.String(),
    token_type: Type.Enum(['Bearer', 'DPoP'], {
      description: '`DPoP`: the token is bound to the key of the proof that was sent (RFC 9449).',
    }),
    expires_in: Type.Integer({
      description:
        'Seconds: 600 for a service account, 300 for an application unless its record says otherwise; less if what it comes from ends earlier.',
      examples: [600],
    }),
    scope: Type.Optional(
      Type.String({
        description:
          'For an application: what the access token is good for. Empty: nothing of what was asked.',
        examples: ['openid email'],
      }),
    ),
    id_token: Type.Optional(
      Type.String({ description: 'For an application, with the scope `openid`: a signed JWT.' }),
    ),
    refresh_token: Type.Optional(
      Type.String({
        description: 'For an application with that grant type. The next one takes its place at each use.',
      }),
    ),
  },
  { title: 'TokenResponse' },
);
export type TokenResponse = Type.Static<typeof TokenResponse>;

const parameter = Type.Optional(Type.String());

/** The parameters of an authorization request, in a form (RFC 9126, 2.1). */
export const PushedRequest = Type.Object(
  {
    redirect_uri: Type.String({ description: 'Where the person is sent back: a registered address.' }),
    response_type: Type.Optional(Type.String({ description: '`code`.' })),
    response_mode: parameter,
    scope: Type.Optional(Type.String({ description: 'Names, separated by spaces.' })),
    state: parameter,
    nonce: parameter,
    code_challenge: Type.Optional(
      Type.String({
        description: 'PKCE (RFC 7636). Required unless the application has `require_pkce` false.',
      }),
    ),
    code_challenge_method: Type.Optional(Type.String({ description: '`S256`.' })),
    resource: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Identifiers of API resources, at most 5: the only field that may be repeated.',
      }),
    ),
    prompt: parameter,
    max_age: parameter,
    claims: parameter,
    acr_values: parameter,
    login_hint: parameter,
    id_token_hint: parameter,
    ui_locales: parameter,
    dpop_jkt: Type.Optional(
      Type.String({
        description:
          'The thumbprint of the key that the code is bound to. A proof in the header `DPoP` says the same, and shows that you hold the key.',
      }),
    ),
    ...clientFields,
  },
  {
    title: 'PushedRequest',
    examples: [
      {
        client_id: 'grafana',
        client_secret: 'cas_cs_…',
        redirect_uri: 'https://grafana.example.com/login/generic_oauth',
        response_type: 'code',
        scope: 'openid profile email',
        state: 'af0ifjsldkj',
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        code_challenge_method: 'S256',
      },
    ],
  },
);
export type PushedRequest = Type.Static<typeof PushedRequest>;

export const PushedResponse = Type.Object(
  {
    request_uri: Type.String({
      description: 'Send the browser to the authorization endpoint with this and `client_id` alone.',
    }),
    expires_in: Type.Integer({ description: 'Seconds.' }),
  },
  {
    title: 'PushedResponse',
    examples: [
      {
        request_uri: 'urn:ietf:params:oauth:request_uri:b1qrGqXvQ4Vgk6mN3w0yTtYkq3c8Jm9hU2xPzR5dLsE',
        expires_in: 90,
      },
    ],
  },
);
export type PushedResponse = Type.Static<typeof PushedResponse>;

export const DeviceAuthorizationRequest = Type.Object(
  {
    scope: Type.Optional(
      Type.String({
        description:
          'What the device asks for, separated by spaces. Default: `openid`. With `offline_access`, its access outlives the session of the person who allows it.',
      }),
    ),
    resource: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Identifiers of API resources that the device wants tokens for, at most 5 (RFC 8707): the only field that may be repeated.',
      }),
    ),
    ...clientFields,
  },
  {
    title: 'DeviceAuthorizationRequest',
    examples: [{ client_id: 'living-room-tv', scope: 'openid profile' }],
  },
);
export type DeviceAuthorizationRequest = Type.Static<typeof DeviceAuthorizationRequest>;

export const DeviceAuthorization = Type.Object(
  {
    device_code: Type.String({ description: 'A secret of the device: exchange it for tokens.' }),
    user_code: Type.String({ description: 'What the person types.', examples: ['BCDF-GHJK'] }),
    verification_uri: Type.String({ format: 'uri', description: 'Where they type it.' }),
    verification_uri_complete: Type.String({
      format: 'uri',
      description: 'The same with the code filled in, for a QR code.',
    }),
    expires_in: Type.Integer({ description: 'Seconds.' }),
    interval: Type.Integer({ description: 'Seconds that the device waits between two requests for tokens.' }),
  },
  {
    title: 'DeviceAuthorization',
    examples: [
      {
        device_code: 'cas_dc_…',
        user_code: 'BCDF-GHJK',
        verification_uri: 'https://id.example.com/device',
        verification_uri_complete: 'https://id.example.com/device?user_code=BCDF-GHJK',
        expires_in: 600,
        interval: 5,
      },
    ],
  },
);
export type DeviceAuthorization = Type.Static<typeof DeviceAuthorization>;

const token = Type.String();
const token_type_hint = Type.Optional(Type.String({ description: 'Ignored.' }));

export const IntrospectionRequest = Type.Object(
  {
    token,
    token_type_hint,
    include: Type.Optional(
      Type.Enum(['permissions', 'attributes', 'permissions attributes', 'permissions live'], {
        description:
          '`permissions` adds `roles` and `permissions` to the response. `attributes` adds the attributes of the user that tokens may tell, under their names; for a token of an application, if it has the scope `profile`. `live` adds `fresh_for`, `role_ids` and `kid`, for callers that keep the answer and follow `/api/v1/access/feed`.',
      }),
    ),
    ...clientFields,
  },
  { title: 'IntrospectionRequest', examples: [{ token: ACCESS_TOKEN, include: 'permissions' }] },
);
export type IntrospectionRequest = Type.Static<typeof IntrospectionRequest>;

/** Times are seconds since 1970. */
export const Introspection = Type.Object(
  {
    active: Type.Boolean({
      description: 'Whether this service accepts the token now. If false, there are no other members.',
    }),
    sub: Type.Optional(
      Type.String({
        description:
          'Id of the user or of the service account. For a token of an application: what the application knows the user by.',
      }),
    ),
    username: Type.Optional(
      Type.String({ description: 'Email of the user, or name of the service account.' }),
    ),
    client_id: Type.Optional(
      Type.String({
        description:
          '`castellan` for tokens of users. For tokens and API keys of a service account, its id, as `sub` is. For tokens of an application, its client_id.',
      }),
    ),
    scope: Type.Optional(
      Type.String({
        description:
          'Only for tokens of applications: what the token is good for now, separated by spaces. For an API resource, names of permissions.',
      }),
    ),
    token_type: Type.Optional(Type.Enum(['Bearer', 'DPoP'])),
    cnf: Type.Optional(
      Type.Object(
        { jkt: Type.String() },
        {
          description:
            'With `DPoP`: the thumbprint of the key that the token is bound to (RFC 7638). Refuse it without a proof of that key.',
        },
      ),
    ),
    exp: Type.Optional(
      Type.Integer({ description: 'When the token ends by itself. Absent for an API key that does not.' }),
    ),
    iat: Type.Optional(Type.Integer()),
    nbf: Type.Optional(Type.Integer()),
    iss: Type.Optional(Type.String()),
    aud: Type.Optional(Type.String()),
    jti: Type.Optional(Type.String({ description: 'Id of the token; of an API key, the id of its record.' })),
    sid: Type.Optional(Type.String({ description: 'Id of the session of a user.' })),
    act: Type.Optional(
      Type.Object(
        { sub: Type.String() },
        { description: 'Who acts as the user: the id of another user (RFC 8693, section 4.1).' },
      ),
    ),
    acr: Type.Optional(
      Type.String({
        description:
          'How strongly the user was authenticated for this token. Absent: by a password, when the session began.',
      }),
    ),
    amr: Type.Optional(Type.Array(Type.String(), { description: 'The methods (RFC 8176).' })),
    auth_time: Type.Optional(
      Type.Integer({ description: 'When the user last proved who they are for this token.' }),
    ),
    roles: Type.Optional(Type.Array(Type.String(), { description: 'Names, sorted.' })),
    permissions: Type.Optional(
      Type.Array(Type.String(), { description: 'Names of everything that the token may do, sorted.' }),
    ),
    step_up: Type.Optional(
      Type.Array(
        Type.Object({
          permission: Type.String(),
          acr_values: Type.String({
            description: 'Every level that would do, separated by spaces.',
            examples: ['aal2 phr'],
          }),
          max_age: Type.Optional(
            Type.Integer({ description: 'At most how many seconds ago.', examples: [600] }),
          ),
        }),
        {
          description:
            'What the user of the token holds and may use only after they have proved more, sorted by name. Absent if there is nothing.',
        },
      ),
    ),
    fresh_for: Type.Optional(
      Type.Integer({
        description:
          'With `live`: for how many seconds nothing in this answer changes by time alone, at most a day. Absent if the answer must not be kept: the feed does not tell every change of it.',
        examples: [1_740],
      }),
    ),
    role_ids: Type.Optional(
      Type.Array(Type.String(), {
        description: 'With `fresh_for`: the ids of the roles on which the answer stands, sorted.',
      }),
    ),
    kid: Type.Optional(
      Type.String({
        description: 'With `fresh_for`: the signing key of the token. Absent for an API key.',
      }),
    ),
  },
  {
    title: 'Introspection',
    additionalProperties: true,
    examples: [
      {
        active: true,
        sub: ID,
        username: 'ada@example.com',
        client_id: 'castellan',
        token_type: 'Bearer',
        exp: 1_773_480_413,
        iat: 1_773_478_613,
        iss: 'https://id.example.com',
        aud: 'https://id.example.com',
        jti: '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be211',
        sid: '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be212',
        roles: ['Editor'],
        permissions: ['article.publish', 'self.update_profile'],
      },
    ],
  },
);
export type Introspection = Type.Static<typeof Introspection>;

export const RevocationRequest = Type.Object(
  { token, token_type_hint, ...clientFields },
  {
    title: 'RevocationRequest',
    examples: [{ token: ACCESS_TOKEN }],
  },
);
export type RevocationRequest = Type.Static<typeof RevocationRequest>;

/** An empty body. */
export const NoContent = Type.Unsafe<undefined>({ type: 'null' });

export const OAuthError = Type.Object(
  {
    error: Type.String({ description: 'Stable; switch on it in programs.' }),
    error_description: Type.String({ description: 'A sentence for people.' }),
  },
  { title: 'OAuthError', description: 'RFC 6749, section 5.2.' },
);
export type OAuthError = Type.Static<typeof OAuthError>;

const Urls = Type.String({ format: 'uri' });
const Texts = Type.Array(Type.String());

const metadata = {
  issuer: Urls,
  authorization_endpoint: Urls,
  pushed_authorization_request_endpoint: Urls,
  device_authorization_endpoint: Urls,
  token_endpoint: Urls,
  userinfo_endpoint: Urls,
  introspection_endpoint: Urls,
  revocation_endpoint: Urls,
  end_session_endpoint: Urls,
  jwks_uri: Urls,
  scopes_supported: Texts,
  claims_supported: Texts,
  acr_values_supported: Texts,
  grant_types_supported: Texts,
  response_types_supported: Texts,
  response_modes_supported: Texts,
  prompt_values_supported: Texts,
  authorization_response_iss_parameter_supported: Type.Boolean(),
  subject_types_supported: Texts,
  id_token_signing_alg_values_supported: Texts,
  token_endpoint_auth_methods_supported: Texts,
  token_endpoint_auth_signing_alg_values_supported: Texts,
  introspection_endpoint_auth_methods_supported: Texts,
  introspection_endpoint_auth_signing_alg_values_supported: Texts,
  revocation_endpoint_auth_methods_supported: Texts,
  revocation_endpoint_auth_signing_alg_values_supported: Texts,
  dpop_signing_alg_values_supported: Texts,
  code_challenge_methods_supported: Texts,
  claims_parameter_supported: Type.Boolean(),
  backchannel_logout_supported: Type.Boolean(),
  backchannel_logout_session_supported: Type.Boolean(),
  request_parameter_supported: Type.Boolean(),
  request_uri_parameter_supported: Type.Boolean(),
  require_pushed_authorization_requests: Type.Boolean(),
  ui_locales_supported: Texts,
};

export const AuthorizationServerMetadata = Type.Object(metadata, {
  title: 'AuthorizationServerMetadata',
  description: 'RFC 8414; OpenID Connect Discovery, 3.',
  examples: [
    {
      issuer: 'https://id.example.com',
      authorization_endpoint: 'https://id.example.com/api/v1/oauth/authorize',
      pushed_authorization_request_endpoint: 'https://id.example.com/api/v1/oauth/par',
      device_authorization_endpoint: 'https://id.example.com/api/v1/oauth/device_authorization',
      token_endpoint: 'https://id.example.com/api/v1/oauth/token',
      userinfo_endpoint: 'https://id.example.com/api/v1/oauth/userinfo',
      introspection_endpoint: 'https://id.example.com/api/v1/oauth/introspect',
      revocation_endpoint: 'https://id.example.com/api/v1/oauth/revoke',
      end_session_endpoint: 'https://id.example.com/api/v1/oauth/logout',
      jwks_uri: 'https://id.example.com/.well-known/jwks.json',
      scopes_supported: ['openid', 'profile', 'email', 'offline_access', 'roles', 'groups'],
      claims_supported: ['sub', 'name', 'email', 'email_verified', 'roles', 'groups'],
      acr_values_supported: ['aal1', 'aal2', 'phr'],
      grant_types_supported: [
        'authorization_code',
        'refresh_token',
        'urn:ietf:params:oauth:grant-type:device_code',
        'client_credentials',
      ],
      response_types_supported: ['code'],
      response_modes_supported: ['query', 'form_post'],
      prompt_values_supported: ['none', 'login', 'consent', 'select_account', 'create'],
      authorization_response_iss_parameter_supported: true,
      subject_types_supported: ['public', 'pairwise'],
      id_token_signing_alg_values_supported: ['RS256', 'ES256'],
      token_endpoint_auth_methods_supported: [
        'client_secret_basic',
        'client_secret_post',
        'private_key_jwt',
        'none',
      ],
      token_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'RS256', 'PS256'],
      introspection_endpoint_auth_methods_supported: [
        'client_secret_basic',
        'client_secret_post',
        'private_key_jwt',
        'Bearer',
      ],
      introspection_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'RS256', 'PS256'],
      revocation_endpoint_auth_methods_supported: [
        'none',
        'client_secret_basic',
        'client_secret_post',
        'private_key_jwt',
      ],
      revocation_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'RS256', 'PS256'],
      dpop_signing_alg_values_supported: ['ES256', 'EdDSA', 'RS256', 'PS256'],
      code_challenge_methods_supported: ['S256'],
      claims_parameter_supported: true,
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
      request_parameter_supported: false,
      request_uri_parameter_supported: false,
      require_pushed_authorization_requests: false,
      ui_locales_supported: ['en', 'de'],
    },
  ],
});
export type AuthorizationServerMetadata = Type.Static<typeof AuthorizationServerMetadata>;

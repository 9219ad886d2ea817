// Schemas of the token services, which have the shapes of OAuth 2.0 (RFC 6749, 7009, 7662 and 8414) and no envelope.
// They must not limit texts: the server decides which error a value gets.
import Type from 'typebox';

const ID = '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be210';
const ACCESS_TOKEN = 'eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9…';

/** How a service account authenticates itself unless it sends an Authorization header. */
const clientFields = {
  client_id: Type.Optional(
    Type.String({ description: 'Id of the service account, unless the Authorization header has it.' }),
  ),
  client_secret: Type.Optional(
    Type.String({
      description: 'An API key of the service account, unless the Authorization header has it.',
    }),
  ),
};

export const TokenRequest = Type.Object(
  {
    grant_type: Type.String({ description: '`client_credentials`.' }),
    scope: Type.Optional(Type.String({ description: 'Not supported: leave it out.' })),
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
    token_type: Type.Literal('Bearer'),
    expires_in: Type.Integer({
      description: 'Seconds: 600, or less for an API key that ends earlier.',
      examples: [600],
    }),
  },
  { title: 'TokenResponse' },
);
export type TokenResponse = Type.Static<typeof TokenResponse>;

const token = Type.String();
const token_type_hint = Type.Optional(Type.String({ description: 'Ignored.' }));

export const IntrospectionRequest = Type.Object(
  {
    token,
    token_type_hint,
    include: Type.Optional(
      Type.Literal('permissions', { description: 'Adds `roles` and `permissions` to the response.' }),
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
    sub: Type.Optional(Type.String({ description: 'Id of the user or of the service account.' })),
    username: Type.Optional(
      Type.String({ description: 'Email of the user, or name of the service account.' }),
    ),
    client_id: Type.Optional(
      Type.String({
        description:
          '`castellan` for tokens of users. For tokens and API keys of a service account, its id, as `sub` is.',
      }),
    ),
    token_type: Type.Optional(Type.Literal('Bearer')),
    exp: Type.Optional(
      Type.Integer({ description: 'When the token ends by itself. Absent for an API key that does not.' }),
    ),
    iat: Type.Optional(Type.Integer()),
    nbf: Type.Optional(Type.Integer()),
    iss: Type.Optional(Type.String()),
    aud: Type.Optional(Type.String()),
    jti: Type.Optional(Type.String({ description: 'Id of the token; of an API key, the id of its record.' })),
    sid: Type.Optional(Type.String({ description: 'Id of the session of a user.' })),
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
  },
  {
    title: 'Introspection',
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
  { token, token_type_hint },
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

export const AuthorizationServerMetadata = Type.Object(
  {
    issuer: Urls,
    token_endpoint: Urls,
    introspection_endpoint: Urls,
    revocation_endpoint: Urls,
    jwks_uri: Urls,
    acr_values_supported: Texts,
    grant_types_supported: Texts,
    response_types_supported: Texts,
    token_endpoint_auth_methods_supported: Texts,
    introspection_endpoint_auth_methods_supported: Texts,
    revocation_endpoint_auth_methods_supported: Texts,
  },
  {
    title: 'AuthorizationServerMetadata',
    description: 'RFC 8414.',
    examples: [
      {
        issuer: 'https://id.example.com',
        token_endpoint: 'https://id.example.com/api/v1/oauth/token',
        introspection_endpoint: 'https://id.example.com/api/v1/oauth/introspect',
        revocation_endpoint: 'https://id.example.com/api/v1/oauth/revoke',
        jwks_uri: 'https://id.example.com/.well-known/jwks.json',
        acr_values_supported: ['aal1', 'aal2', 'phr'],
        grant_types_supported: ['client_credentials'],
        response_types_supported: [],
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
        introspection_endpoint_auth_methods_supported: [
          'client_secret_basic',
          'client_secret_post',
          'Bearer',
        ],
        revocation_endpoint_auth_methods_supported: ['none'],
      },
    ],
  },
);
export type AuthorizationServerMetadata = Type.Static<typeof AuthorizationServerMetadata>;

// Schemas of userinfo (OpenID Connect Core, 5.3), which has no envelope.
import Type from 'typebox';

/** Only in a POST. */
export const UserinfoRequest = Type.Object(
  {
    access_token: Type.Optional(
      Type.String({ description: 'The access token, unless the Authorization header has it.' }),
    ),
  },
  { title: 'UserinfoRequest' },
);
export type UserinfoRequest = Type.Static<typeof UserinfoRequest>;

/** A claim is absent if the token does not have its scope, or the account has no value for it. */
export const Userinfo = Type.Object(
  {
    sub: Type.String({ description: 'What the application knows the user by. It never changes.' }),
    name: Type.Optional(Type.String()),
    given_name: Type.Optional(Type.String()),
    family_name: Type.Optional(Type.String()),
    preferred_username: Type.Optional(Type.String({ description: 'The email.' })),
    locale: Type.Optional(Type.String()),
    updated_at: Type.Optional(Type.Integer({ description: 'Seconds since 1970.' })),
    email: Type.Optional(Type.String()),
    email_verified: Type.Optional(Type.Boolean()),
    roles: Type.Optional(Type.Array(Type.String(), { description: 'Names, sorted.' })),
    groups: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Names of the role groups of these roles, with all their ancestors, sorted.',
      }),
    ),
    permissions: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Names of permissions in the groups of the API resources of the application, sorted.',
      }),
    ),
  },
  {
    title: 'Userinfo',
    description: 'Claims that the application has mappings for stand beside these.',
    additionalProperties: true,
    examples: [
      {
        sub: '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be210',
        name: 'Ada Lovelace',
        given_name: 'Ada',
        family_name: 'Lovelace',
        preferred_username: 'ada@example.com',
        updated_at: 1_773_478_613,
        email: 'ada@example.com',
        email_verified: true,
        roles: ['Editor'],
        groups: ['Newsroom'],
      },
    ],
  },
);
export type Userinfo = Type.Static<typeof Userinfo>;

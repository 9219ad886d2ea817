// Schemas of identity providers: issuers that people come from. Secrets are never in a response.
import Type from 'typebox';
import { withOtherNames } from '../access/access-fields.ts';
import { authorship, ListEnvelope, Nullable, PageQuery, Uuid } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';

const MAX_DOMAINS = 200;
const MAX_ROLES = 50;
const MAX_MAPPINGS = 200;
const MAX_TENANTS = 100;
const MAX_PARAMETERS = 10;
const MAX_LEVELS = 20;

export const ProviderKind = Type.Enum(['oidc', 'google', 'microsoft', 'github', 'apple']);
export type ProviderKind = Type.Static<typeof ProviderKind>;

const Slug = Type.String({
  maxLength: 160,
  description:
    'Names the provider in addresses: 1 to 40 lower-case letters, digits and hyphens. It never changes.',
  examples: ['acme'],
});
const ProviderName = Type.String({
  minLength: 1,
  maxLength: 400,
  description: '1 to 100 characters: what the button says.',
  examples: ['Acme'],
});

const RoleMapping = Type.Object(
  {
    claim: Type.String({
      minLength: 1,
      maxLength: 250,
      description:
        'A member of the ID token or of userinfo; dots lead into objects. A text, or a list of texts.',
      examples: ['groups'],
    }),
    equals: Type.String({
      minLength: 1,
      maxLength: 250,
      description: 'Compared without case.',
      examples: ['engineering'],
    }),
    role_id: Uuid,
  },
  { title: 'IdentityRoleMapping' },
);
export type RoleMapping = Type.Static<typeof RoleMapping>;

/** Fields that are the same in the record and in its bodies. */
const fields = {
  client_id: Type.String({
    minLength: 1,
    maxLength: 500,
    description: 'What the provider calls Castellan.',
    examples: ['castellan'],
  }),
  client_auth: Type.Enum(['client_secret_basic', 'client_secret_post', 'private_key', 'none'], {
    description:
      'How Castellan authenticates itself there. Default: `client_secret_basic`; `private_key` for Apple, and `client_secret_post` for GitHub.',
  }),
  team_id: Nullable(Type.String({ maxLength: 50, description: "Apple's.", examples: ['A1B2C3D4E5'] })),
  key_id: Nullable(Type.String({ maxLength: 50, description: "Apple's.", examples: ['F6G7H8I9J0'] })),
  scopes: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
    maxItems: 20,
    description:
      'Default: openid, profile, email; for GitHub read:user, user:email; for Apple openid, name, email.',
  }),
  is_active: Type.Boolean({ description: 'Nobody signs in by a provider that is not active.' }),
  is_shown: Type.Boolean({ description: 'Whether the sign-in page has a button for it. Default: true.' }),
  position: Type.Integer({
    minimum: 0,
    maximum: 10_000,
    description: 'The order of the buttons. Default: after the others.',
  }),
  sign_up: Type.Enum(['none', 'domains', 'everyone'], {
    description:
      'Whose account is made when they come for the first time: nobody’s, that of an address in `domains`, or everybody’s. Default: `none`.',
  }),
  domains: Type.Array(Type.String({ minLength: 1, maxLength: 253, examples: ['example.com'] }), {
    maxItems: MAX_DOMAINS,
    description: 'Domains of email addresses, compared exactly: a subdomain is another one.',
  }),
  required_for_domains: Type.Boolean({
    description:
      'Whether people with an address in `domains` sign in here only: passwords are refused for these addresses. Default: false.',
  }),
  tenants: Type.Array(Type.String({ minLength: 1, maxLength: 50 }), {
    maxItems: MAX_TENANTS,
    description:
      'Microsoft: ids of the tenants whose people may sign in. The only one, if the issuer names it.',
  }),
  email_trust: Type.Enum(['none', 'domains'], {
    description:
      'Whether an address in `domains` that the provider calls verified is taken as verified. Default: `none`.',
  }),
  connect: Type.Enum(['confirm', 'trusted'], {
    description:
      'How somebody with a trusted address gets into the account that has it: after they signed in to it once more, or at once, if it holds no administrative permission. Default: `confirm`.',
  }),
  allow_superusers: Type.Boolean({ description: 'Whether superusers may sign in by it. Default: false.' }),
  role_ids: Type.Array(Uuid, {
    maxItems: MAX_ROLES,
    description: 'Roles of every account that this provider makes, besides `DEFAULT_ROLE`.',
  }),
  role_mapping: Type.Array(RoleMapping, {
    maxItems: MAX_MAPPINGS,
    description: 'Roles by claims.',
  }),
  mapping: Type.Enum(['creation', 'every_sign_in'], {
    description:
      'When `role_mapping` counts. At every sign-in it gives and takes the roles that it names; a claim that is missing changes nothing, an empty list takes. Default: `creation`.',
  }),
  sync_names: Type.Boolean({
    description: 'Whether first and last name follow the provider at every sign-in. Default: false.',
  }),
  acr_mapping: Type.Record(Type.String({ minLength: 1, maxLength: 250 }), Type.Enum(['aal2']), {
    maxProperties: MAX_LEVELS,
    description:
      'Values of `acr` or `amr` of the provider that count as a second factor here. Default: none.',
  }),
  logout: Type.Enum(['here', 'upstream'], {
    description:
      'Whether people who sign out are sent to the provider to sign out there, too. Default: `here`.',
  }),
  extra_parameters: Type.Record(
    Type.String({ minLength: 1, maxLength: 50 }),
    Type.String({ maxLength: 500 }),
    {
      maxProperties: MAX_PARAMETERS,
      description: 'Further parameters of the request to the provider, such as `hd` or `domain_hint`.',
    },
  ),
};

const Issuer = Type.String({
  maxLength: 2_000,
  description:
    'Exactly as the provider writes it. For `oidc`; for `microsoft`, `https://login.microsoftonline.com/{tenant id, organizations or common}/v2.0`. The other kinds have one.',
  examples: ['https://id.example.com'],
});

export const IdentityProvider = Type.Object(
  {
    id: Uuid,
    slug: Type.String(),
    name: Type.String(),
    kind: ProviderKind,
    issuer: Type.String(),
    has_secret: Type.Boolean({ description: 'Whether a client secret or a private key is kept.' }),
    ...fields,
    redirect_uri: Type.String({ description: 'To be registered at the provider.' }),
    post_logout_redirect_uri: Type.String({
      description: 'To be registered at the provider for `logout: upstream`.',
    }),
    backchannel_logout_uri: Type.String({ description: 'May be registered at the provider.' }),
    ...authorship,
  },
  { title: 'IdentityProvider' },
);
export type IdentityProvider = Type.Static<typeof IdentityProvider>;

const secrets = {
  client_secret: Type.Optional(
    Nullable(Type.String({ maxLength: 2_000, description: 'Never returned. Null removes it.' })),
  ),
  private_key: Type.Optional(
    Nullable(
      Type.String({ maxLength: 5_000, description: "Apple's key (PEM, PKCS #8, P-256). Never returned." }),
    ),
  ),
};
const inputs = Type.Partial(Type.Object(fields)).properties;

export const CreateIdentityProviderBody = Type.Object(
  withOtherNames({
    ...inputs,
    slug: Slug,
    name: ProviderName,
    kind: ProviderKind,
    issuer: Type.Optional(Issuer),
    client_id: fields.client_id,
    ...secrets,
  }),
  { title: 'CreateIdentityProvider' },
);
export type CreateIdentityProviderBody = Type.Static<typeof CreateIdentityProviderBody>;

export const UpdateIdentityProviderBody = Type.Object(
  withOtherNames({
    ...inputs,
    name: Type.Optional(ProviderName),
    issuer: Type.Optional(Issuer),
    ...secrets,
    slug: Type.Optional(Type.String({ description: 'Refused, unless it is what the provider has.' })),
    kind: Type.Optional(Type.String({ description: 'Refused, unless it is what the provider has.' })),
  }),
  { title: 'UpdateIdentityProvider', description: 'A list or a map replaces the whole one.' },
);
export type UpdateIdentityProviderBody = Type.Static<typeof UpdateIdentityProviderBody>;

const Count = (description: string) => Type.Integer({ minimum: 0, description });

/** What ending a provider, or the sign-ins by it, does to people. */
export const ProviderImpact = Type.Object(
  {
    identities: Count('Connections of accounts that the change is about.'),
    sessions: Count('Live sessions that began by them.'),
    left_without: Count(
      'Active accounts that would have no other way to sign in: no password, no passkey, no other active provider.',
    ),
  },
  { title: 'ProviderImpact' },
);
export type ProviderImpact = Type.Static<typeof ProviderImpact>;

export const ProviderPreviewEnvelope = DataEnvelope(
  Type.Object(
    {
      dry_run: Type.Literal(true),
      would_be_refused: Nullable(
        Type.Object({ status: Type.Integer(), code: Type.String(), detail: Type.String() }),
      ),
      impact: Type.Union([ProviderImpact, Type.Null()], {
        description:
          'Null if the change would be refused. Zeros if the provider stays active and keeps its issuer.',
      }),
    },
    { title: 'IdentityProviderPreview' },
  ),
);
export type ProviderPreviewEnvelope = Type.Static<typeof ProviderPreviewEnvelope>;

const changing = {
  dry_run: Type.Optional(
    Type.Boolean({
      description:
        'True changes nothing: the response is a preview of how many people the change would concern, or of the refusal.',
    }),
  ),
  end_sessions: Type.Optional(
    Type.Boolean({
      description:
        'True ends the sessions that began by the provider. Without it, they go on. Default: false.',
    }),
  ),
};
export const UpdateIdentityProviderQuery = Type.Object(changing);
export type UpdateIdentityProviderQuery = Type.Static<typeof UpdateIdentityProviderQuery>;
export const DeleteIdentityProviderQuery = Type.Object({
  ...changing,
  force: Type.Optional(
    Type.Boolean({
      description:
        'True deletes the provider although accounts are connected to it, disconnects them, and ends the sessions that began by it. Default: false.',
    }),
  ),
});
export type DeleteIdentityProviderQuery = Type.Static<typeof DeleteIdentityProviderQuery>;

export const ProviderTest = Type.Object(
  {
    ok: Type.Boolean(),
    issuer: Nullable(Type.String({ description: 'As the metadata of the provider has it.' })),
    checks: Type.Array(Type.Object({ name: Type.String(), ok: Type.Boolean(), text: Type.String() })),
  },
  { title: 'ProviderTest' },
);
export type ProviderTest = Type.Static<typeof ProviderTest>;

export const IdentityProviderEnvelope = DataEnvelope(IdentityProvider);
export const IdentityProviderListEnvelope = ListEnvelope(IdentityProvider);
export const ProviderTestEnvelope = DataEnvelope(ProviderTest);
export const IdentityProviderParams = Type.Object({ provider_id: Uuid });
export const IdentityProviderListQuery = PageQuery;
export type IdentityProviderListQuery = Type.Static<typeof IdentityProviderListQuery>;

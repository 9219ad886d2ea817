// Schemas of signing in by an identity provider, and of identities: links of accounts there to accounts here.
import Type from 'typebox';
import { SecondFactorRequest } from '../authentication.ts';
import { EmailInput, Nullable, Timestamp, Uuid } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';
import { ProviderKind } from './providers.ts';

const Slug = Type.String({ minLength: 1, maxLength: 40, examples: ['acme'] });

/** What everybody may know of a provider. */
const PublicProvider = Type.Object(
  { slug: Type.String(), name: Type.String(), kind: ProviderKind },
  { title: 'PublicIdentityProvider' },
);
export type PublicProvider = Type.Static<typeof PublicProvider>;
export const PublicProvidersEnvelope = DataEnvelope(Type.Array(PublicProvider));

export const ProviderSlugParams = Type.Object({ slug: Slug });

export const StartProviderBody = Type.Object(
  {
    next: Type.Optional(
      Type.String({ maxLength: 2_000, description: 'The path of this service to go on to.' }),
    ),
    interaction_id: Type.Optional(
      Type.String({ maxLength: 100, description: 'Of the application that waits for the sign-in.' }),
    ),
  },
  { title: 'StartProvider' },
);
export type StartProviderBody = Type.Static<typeof StartProviderBody>;

export const RedirectEnvelope = DataEnvelope(
  Type.Object({ redirect_to: Type.String({ description: 'Where to send the browser.' }) }),
);

const Named = Type.Object({ slug: Type.String(), name: Type.String() });

export const PendingIdentity = Type.Object(
  {
    provider: Named,
    email: Nullable(Type.String({ description: 'What the provider said. It may not be theirs.' })),
    step: Type.Enum(['connect', 'email', 'sign_up', 'second_factor'], {
      description:
        '`connect`: sign in to the account with this address, then connect. `email`: confirm an address with a code. `sign_up`: there is no account, and none is made. `second_factor`: go on with `second_factor`, as after a password.',
    }),
    second_factor: Type.Optional(SecondFactorRequest),
  },
  { title: 'PendingIdentity' },
);
export type PendingIdentity = Type.Static<typeof PendingIdentity>;
export const PendingIdentityEnvelope = DataEnvelope(PendingIdentity);

export const PendingEmailBody = Type.Object({ email: EmailInput }, { title: 'PendingIdentityEmail' });
export const PendingConfirmBody = Type.Object(
  { code: Type.String({ maxLength: 20, description: '8 digits, from the mail.', examples: ['12345678'] }) },
  { title: 'PendingIdentityCode' },
);

export const Identity = Type.Object(
  {
    id: Uuid,
    provider: Named,
    subject: Type.String({ description: 'What the provider calls the person.' }),
    email: Nullable(Type.String({ description: 'As the provider said last. Nothing is decided by it.' })),
    display_name: Nullable(Type.String()),
    created_at: Timestamp,
    last_used_at: Nullable(Timestamp),
  },
  { title: 'ConnectedIdentity' },
);
export type Identity = Type.Static<typeof Identity>;
export const IdentityEnvelope = DataEnvelope(Identity);

export const OwnIdentities = Type.Object(
  {
    identities: Type.Array(Identity),
    has_password: Type.Boolean(),
    providers: Type.Array(PublicProvider, { description: 'Those that can still be connected.' }),
  },
  { title: 'OwnIdentities' },
);
export type OwnIdentities = Type.Static<typeof OwnIdentities>;
export const OwnIdentitiesEnvelope = DataEnvelope(OwnIdentities);
export const UserIdentitiesEnvelope = DataEnvelope(Type.Array(Identity));

export const IdentityDisconnected = Type.Object(
  {
    sessions: Type.Integer({ description: 'How many sessions ended that had begun with it.' }),
    signed_out: Type.Boolean({ description: 'Whether the session of this request was one of them.' }),
  },
  { title: 'IdentityDisconnected' },
);
export type IdentityDisconnected = Type.Static<typeof IdentityDisconnected>;
export const IdentityDisconnectedEnvelope = DataEnvelope(IdentityDisconnected);

export const ConnectProviderBody = Type.Object({ provider: Slug }, { title: 'ConnectProvider' });
export const IdentityParams = Type.Object({ identity_id: Uuid });
export const UserIdentityParams = Type.Object({ user_id: Uuid, identity_id: Uuid });

const LOGOUT_TOKEN = 'eyJhbGciOiJSUzI1NiIsInR5cCI6ImxvZ291dCtqd3QifQ…';

/** As in OpenID Connect Back-Channel Logout 1.0, 2.5. */
export const BackchannelLogoutRequest = Type.Object(
  { logout_token: Type.String({ minLength: 1, maxLength: 16_384, examples: [LOGOUT_TOKEN] }) },
  { title: 'BackchannelLogoutRequest' },
);

export const SignedOutQuery = Type.Object({
  state: Type.Optional(Type.String({ maxLength: 2_000, description: 'What the provider was given.' })),
});

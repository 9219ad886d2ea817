// Schemas of the pages between an application's request and its answer: sign in, agree, sign out.
import Type from 'typebox';
import { AcrValue } from '../authentication.ts';
import { Nullable, Timestamp } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';

/** What the person has to do next. `refused`: the application is not open to them. */
export const interactionSteps = [
  'sign_in',
  'reauthenticate',
  'select_account',
  'change_password',
  'step_up',
  'refused',
  'consent',
  'sign_out',
  'device',
] as const;
export type InteractionStep = (typeof interactionSteps)[number];

const Url = Nullable(Type.String());

export const Interaction = Type.Object(
  {
    step: Type.Enum([...interactionSteps]),
    application: Type.Union(
      [
        Type.Object({
          name: Type.String(),
          home_url: Url,
          policy_url: Url,
          terms_url: Url,
          first_party: Type.Boolean(),
          host: Nullable(
            Type.String({
              description: 'Where the person is sent back to.',
              examples: ['grafana.example.com'],
            }),
          ),
        }),
        Type.Null(),
      ],
      { description: 'Null: a sign-out that names no application.' },
    ),
    account: Type.Union([Type.Object({ name: Type.String(), email: Type.String() }), Type.Null()], {
      description: 'Who is signed in to Castellan in this browser.',
    }),
    login_hint: Nullable(Type.String({ description: 'Fills the field of the email.' })),
    providers: Type.Array(Type.Object({ slug: Type.String(), name: Type.String(), kind: Type.String() }), {
      description: 'With `sign_in`: other ways to sign in.',
    }),
    required_acr: Nullable(AcrValue),
    required_permission: Nullable(
      Type.String({ description: 'With `refused`: the permission that the account lacks.' }),
    ),
    consent: Nullable(
      Type.Object({
        scopes: Type.Array(Type.Object({ name: Type.String(), text: Type.String(), is_new: Type.Boolean() })),
        permissions: Type.Array(Type.Object({ name: Type.String(), description: Type.String() })),
        offline: Type.Boolean({ description: 'Whether access lasts when the person is not there.' }),
        until: Timestamp,
      }),
    ),
    device: Nullable(Type.Object({ address: Type.String(), user_agent: Type.String(), asked_at: Timestamp })),
    expires_at: Timestamp,
  },
  { title: 'Interaction' },
);
export type Interaction = Type.Static<typeof Interaction>;

/** 32 random bytes as base64url. */
export const INTERACTION_ID = /^[A-Za-z0-9_-]{43}$/;
export const InteractionParams = Type.Object({
  interaction_id: Type.String({ minLength: 1, description: 'From the address of the page.' }),
});

export const ConsentBody = Type.Object(
  {
    decision: Type.Enum(['allow', 'deny']),
    scopes: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 200,
        description: 'Those of the asked ones that the person agrees to. Default: all. `openid` stays.',
      }),
    ),
  },
  { title: 'Consent' },
);
export type ConsentBody = Type.Static<typeof ConsentBody>;

export const AccountBody = Type.Object(
  {
    decision: Type.Enum(['continue', 'switch'], {
      description: '`switch` ends the session of this browser.',
    }),
  },
  { title: 'AccountChoice' },
);
export type AccountBody = Type.Static<typeof AccountBody>;

export const SignOutBody = Type.Object(
  { decision: Type.Enum(['sign_out', 'stay']) },
  { title: 'SignOutChoice' },
);
export type SignOutBody = Type.Static<typeof SignOutBody>;

export const Redirect = Type.Object(
  { redirect_to: Type.String({ description: 'Where the page goes next.' }) },
  { title: 'Redirect' },
);
export type Redirect = Type.Static<typeof Redirect>;

export const DeviceBody = Type.Object(
  {
    user_code: Type.String({
      description: 'As the device shows it, in any case, with or without the hyphen.',
      examples: ['BCDF-GHJK'],
    }),
  },
  { title: 'UserCode' },
);
export type DeviceBody = Type.Static<typeof DeviceBody>;

export const FoundDeviceEnvelope = DataEnvelope(
  Type.Object(
    { interaction_id: Type.String({ description: 'Of the interaction in which the person answers.' }) },
    { title: 'FoundDevice' },
  ),
);

export const InteractionEnvelope = DataEnvelope(Interaction);
export const RedirectEnvelope = DataEnvelope(Redirect);

// Schemas of what people gave applications: authorizations, as administrators see them, and one's own applications.
// They must never contain a token, a code, or the hash of one.
import Type from 'typebox';
import { Nullable, Timestamp, Uuid } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';

/** One authorization that is live. */
export const AccessGrant = Type.Object(
  {
    id: Uuid,
    user: Type.Object({ id: Uuid, name: Type.String(), email: Type.String() }, { title: 'AccessGrantUser' }),
    session_id: Type.Union([Uuid], { description: 'The session that it was given in.' }),
    scopes: Type.Array(Type.String()),
    resources: Type.Array(
      Type.Object(
        {
          id: Uuid,
          identifier: Type.String(),
          name: Type.String(),
          permissions: Type.Array(Type.String(), { description: 'Names of what was agreed to, sorted.' }),
        },
        { title: 'AccessGrantResource' },
      ),
      { description: 'The API resources that tokens of it may be for.' },
    ),
    offline: Type.Boolean({ description: 'Whether it outlives its session.' }),
    created_at: Timestamp,
    last_used_at: Type.Union([Timestamp, Type.Null()], { description: 'When it last got a token.' }),
    expires_at: Type.Union([Timestamp], { description: 'Its end, however often it is refreshed.' }),
  },
  { title: 'AccessGrant' },
);
export type AccessGrant = Type.Static<typeof AccessGrant>;

export const AccessGrantQuery = Type.Object({
  user_id: Type.Optional(Uuid),
  size: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
  cursor: Type.Optional(Type.String({ format: 'uuid', description: '`next_cursor` of the page before.' })),
});
export type AccessGrantQuery = Type.Static<typeof AccessGrantQuery>;

export const AccessGrantPage = Type.Object(
  {
    data: Type.Array(AccessGrant),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description: 'The start of the next page; null on the last one.',
    }),
    message: Type.String(),
  },
  { title: 'AccessGrantPage' },
);
export type AccessGrantPage = Type.Static<typeof AccessGrantPage>;

export const AccessGrantParams = Type.Object({ application_id: Uuid, grant_id: Uuid });
/** Of the applications of a user. */
export const ApplicationUserParams = Type.Object({ user_id: Uuid });
export const UserApplicationParams = Type.Object({ user_id: Uuid, application_id: Uuid });

export const AccessEnded = Type.Object(
  { grants: Type.Integer({ minimum: 0, description: 'Live authorizations that ended.' }) },
  { title: 'AccessEnded' },
);
export const AccessEndedEnvelope = DataEnvelope(AccessEnded);

const ConsentedPermission = Type.Object(
  { name: Type.String(), description: Type.String() },
  { title: 'ConsentedPermission' },
);

/** What an application has of one person, over all authorizations that are live. */
const Access = Type.Object(
  {
    grants: Type.Integer({
      minimum: 1,
      description: 'Live authorizations, such as one for each browser.',
    }),
    scopes: Type.Array(Type.String(), { description: 'Of all of them, sorted.' }),
    offline: Type.Boolean({ description: 'Whether one of them outlives its session.' }),
    since: Timestamp,
    last_used_at: Nullable(Timestamp),
    until: Type.Union([Timestamp], { description: 'The last end of them.' }),
  },
  { title: 'OwnAccess' },
);

/** An application that a user uses. */
export const UserApplication = Type.Object(
  { id: Uuid, name: Type.String(), access: Access },
  { title: 'UserApplication' },
);
export type UserApplication = Type.Static<typeof UserApplication>;
export const UserApplicationsEnvelope = DataEnvelope(Type.Array(UserApplication));

/** An application that the caller uses, or agreed to. One of `access` and `consent` is not null. */
export const OwnApplication = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    home_url: Nullable(Type.String()),
    policy_url: Nullable(Type.String()),
    terms_url: Nullable(Type.String()),
    access: Type.Union([Access, Type.Null()], {
      description: 'Null: the application has none now.',
    }),
    consent: Type.Union(
      [
        Type.Object(
          {
            scopes: Type.Array(Type.String()),
            permissions: Type.Array(ConsentedPermission, { description: 'By name.' }),
            agreed_at: Timestamp,
          },
          { title: 'OwnConsent' },
        ),
        Type.Null(),
      ],
      { description: 'What you agreed to. Null: you were not asked.' },
    ),
  },
  { title: 'OwnApplication' },
);
export type OwnApplication = Type.Static<typeof OwnApplication>;
export const OwnApplicationsEnvelope = DataEnvelope(Type.Array(OwnApplication));

export const AccessWithdrawn = Type.Object(
  {
    grants: Type.Integer({ minimum: 0, description: 'Live authorizations that ended.' }),
    consent: Type.Boolean({ description: 'Whether there was a consent to withdraw.' }),
  },
  { title: 'AccessWithdrawn' },
);
export type AccessWithdrawn = Type.Static<typeof AccessWithdrawn>;
export const AccessWithdrawnEnvelope = DataEnvelope(AccessWithdrawn);

const Count = (description: string) => Type.Integer({ minimum: 0, description });

export const ApplicationImpact = Type.Object(
  {
    grants: Count('Live authorizations that would end.'),
    users: Count('People who have them.'),
    sessions: Count('Sessions that they were given in.'),
  },
  { title: 'ApplicationImpact' },
);
export type ApplicationImpact = Type.Static<typeof ApplicationImpact>;

/** Query of the changes of an application that have a preview. */
export const ApplicationDryRunQuery = Type.Object({
  dry_run: Type.Optional(
    Type.Boolean({
      description:
        'True changes nothing: the response is a preview of how much access would end, or of the refusal.',
    }),
  ),
});

export const ApplicationPreviewEnvelope = DataEnvelope(
  Type.Object(
    {
      dry_run: Type.Literal(true),
      would_be_refused: Nullable(
        Type.Object({ status: Type.Integer(), code: Type.String(), detail: Type.String() }),
      ),
      impact: Type.Union([ApplicationImpact, Type.Null()], {
        description: 'Null if the change would be refused.',
      }),
    },
    { title: 'ApplicationPreview' },
  ),
);
export type ApplicationPreviewEnvelope = Type.Static<typeof ApplicationPreviewEnvelope>;

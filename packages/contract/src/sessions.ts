// Schemas of sessions, for their owner and for administrators, and of the devices that people sign in from.
// They must never contain a token or the hash of a token.
import Type from 'typebox';
import { ListEnvelope, MAX_IDS, Nullable, Timestamp, Uuid } from './http/common.ts';
import { DataEnvelope } from './http/envelope.ts';

export const Session = Type.Object(
  {
    id: Uuid,
    origin_address: Type.Union([Type.String(), Type.Null()]),
    last_address: Type.Union([Type.String(), Type.Null()], {
      description: 'The address of the last use; null if an earlier version recorded none.',
    }),
    unusual_network: Type.Union([Type.Literal('new'), Type.Literal('changed'), Type.Null()], {
      description:
        '`new`: the user signed in from a network (IPv4 /24, IPv6 /64) that none of their sessions of the last 30 days ' +
        'had, and had others. `changed`: the session was last used from another network than it began in, which ' +
        '`VALIDATE_TOKEN_IP=false` permits, and `by-family` over the other address family.',
    }),
    user_agent: Type.Union([Type.String(), Type.Null()]),
    created_at: Timestamp,
    last_used_at: Timestamp,
    expires_at: Timestamp,
    current: Type.Boolean({ description: 'True for the session that sent this request.' }),
    methods: Type.Optional(
      Type.Array(
        Type.Enum(['password', 'device', 'recovery_link', 'totp', 'recovery_code', 'passkey', 'provider']),
        {
          description:
            'What the session began with; absent if that was a password alone. `device`: a trusted one, in the place of a factor.',
        },
      ),
    ),
    provider: Type.Optional(
      Type.Object(
        { slug: Type.String(), name: Type.String() },
        { description: 'The identity provider that the session began at; absent for others.' },
      ),
    ),
    acted_by: Type.Optional(
      Type.Object(
        { id: Uuid, email: Type.String(), first_name: Type.String(), last_name: Type.String() },
        { description: 'Who acts as the user in this session; absent in a session of the user.' },
      ),
    ),
  },
  { title: 'Session' },
);
export type Session = Type.Static<typeof Session>;

export const SessionListEnvelope = ListEnvelope(Session);
export const SessionParams = Type.Object({ session_id: Uuid });

/** A live session of any user, for administrators. */
export const UserSession = Type.Object(
  {
    ...Session.properties,
    user: Type.Object(
      { id: Uuid, email: Type.String(), first_name: Type.String(), last_name: Type.String() },
      { title: 'SessionUser' },
    ),
  },
  { title: 'UserSession' },
);
export type UserSession = Type.Static<typeof UserSession>;

const sessionFilters = {
  user_id: Type.Optional(Uuid),
  address: Type.Optional(
    Type.String({
      maxLength: 100,
      description:
        'The IP address or network (CIDR) of the sign-in: `203.0.113.7`, `203.0.113.0/24`, `2001:db8::/32`.',
      examples: ['203.0.113.0/24'],
    }),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: 250,
      description: "Words of the user's full name or email address, as in the list of users.",
    }),
  ),
  older_than: Type.Optional(
    Type.String({
      format: 'date-time',
      description:
        'Last used before this time. A session is used when it starts and whenever a token of it is refreshed.',
    }),
  ),
};
/** A misspelt filter is refused, because leaving it out would end more sessions. */
export const SessionFilters = Type.Object(sessionFilters, { additionalProperties: false });
export type SessionFilters = Type.Static<typeof SessionFilters>;

export const AllSessionsQuery = Type.Object({
  ...sessionFilters,
  size: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`next_cursor` of the page before.' })),
});
export type AllSessionsQuery = Type.Static<typeof AllSessionsQuery>;

/** Newest first. `next_cursor` is null on the last page. A page may be shorter than `size`, or empty, and not be the last. */
export const SessionPage = Type.Object(
  {
    data: Type.Array(UserSession),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description:
        'The start of the next page; null on the last one. A `search` that many users match reads up to 20,000 sessions at a time: then a page may be shorter than `size`, or empty, and not be the last.',
    }),
    total: Type.Integer({
      description:
        'How many sessions match, on whatever page. Exact up to 10,000. Without a filter, more are counted by a job: then the number is up to 60 seconds old. By a `search` that many users match, only the newest 20,000 sessions are counted: see `total_is_estimate`.',
    }),
    total_is_estimate: Type.Optional(
      Type.Boolean({
        description: 'True if `total` is not exact. With a filter, it then says how many match at least.',
      }),
    ),
    message: Type.String(),
  },
  { title: 'SessionPage' },
);
export type SessionPage = Type.Static<typeof SessionPage>;

/** Maximum sessions, and users who have them, that one request ends: it locks the rows of these users. */
export const MAX_SESSIONS_ENDED = 10_000;
export const MAX_USERS_ENDED = MAX_IDS;

export const SessionsEndedEnvelope = DataEnvelope(
  Type.Object(
    { sessions: Type.Integer(), users: Type.Integer({ description: 'Users whose sessions ended.' }) },
    { title: 'SessionsEnded' },
  ),
);

/** A browser that a person has signed in from. */
export const Device = Type.Object(
  {
    id: Uuid,
    user_agent: Nullable(Type.String()),
    network: Nullable(
      Type.String({ description: 'The network (IPv4 /24, IPv6 /64) of the latest sign-in.' }),
    ),
    created_at: Timestamp,
    last_used_at: Timestamp,
    trusted_until: Nullable(
      Type.String({
        format: 'date-time',
        description: 'Until when the password alone signs in on this device; null if it does not.',
      }),
    ),
    current: Type.Boolean({ description: 'True for the device of the session that sent this request.' }),
  },
  { title: 'Device' },
);
export type Device = Type.Static<typeof Device>;

export const DevicesEnvelope = DataEnvelope(Type.Array(Device));
export const DeviceParams = Type.Object({ device_id: Uuid });

/** Longest time that somebody acts as somebody else, and the default, in minutes. */
export const MAX_ACTING_MINUTES = 60;
/** Where the body says nothing. */
export const ACTING_MINUTES = 15;

export const ActAsBody = Type.Object(
  {
    reason: Type.String({
      minLength: 5,
      maxLength: 500,
      description: 'Why, for the audit log.',
    }),
    minutes: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_ACTING_MINUTES, default: ACTING_MINUTES }),
    ),
  },
  { title: 'ActAsBody', examples: [{ reason: 'Ticket 4711: the invoice page stays empty.', minutes: 15 }] },
);
export type ActAsBody = Type.Static<typeof ActAsBody>;

export const ActingToken = Type.Object(
  {
    access_token: Type.String({
      description: 'An access token of the user, with the claim `act`. Nothing renews it.',
    }),
    token_type: Type.Literal('bearer'),
    expires_at: Timestamp,
  },
  { title: 'ActingToken' },
);
export type ActingToken = Type.Static<typeof ActingToken>;
export const ActingTokenEnvelope = DataEnvelope(ActingToken);

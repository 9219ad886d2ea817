// The change feed: what changed about sessions, tokens, accounts and access, so that a service may keep answers until then.
// It holds ids only: never a name, an address, a reason or who did it.
import Type from 'typebox';

/** What a change is about. A reader that does not know a type forgets everything that it keeps. */
export const feedTypes = [
  'session',
  'token',
  'user',
  'service_account',
  'signing_key',
  'graph',
  'everything',
] as const;
export type FeedType = (typeof feedTypes)[number];

/** Why a reader must forget everything. */
export const resetReasons = ['unknown_cursor', 'other_history', 'behind', 'off'] as const;
export type ResetReason = (typeof resetReasons)[number];

const Ids = (what: string) =>
  Type.Optional(
    Type.Union([Type.Array(Type.String({ format: 'uuid' })), Type.Null()], {
      description: `Only with \`graph\`: the ids of the ${what} that changed; null: all, or more than 1,000.`,
    }),
  );

export const FeedChange = Type.Object(
  {
    type: Type.String({
      description:
        '`session`, `token` (`id`: its `jti`), `user`, `service_account`, `signing_key` (`id`: its `kid`), `graph` (roles and permissions; `id`: its new stamp) or `everything` (`id`: `*`). Treat a type that you do not know as `everything`.',
      examples: ['session'],
    }),
    id: Type.String({ examples: ['01890a5d-ac96-774b-bcce-b302099a8057'] }),
    role_ids: Ids('roles'),
    permission_ids: Ids('permissions'),
  },
  { title: 'FeedChange' },
);
export type FeedChange = Type.Static<typeof FeedChange>;

/** The most changes that `limit` can ask for, and how long a request can wait for one, in seconds. */
export const FEED_MAX_LIMIT = 1_000;
export const FEED_MAX_WAIT_SECONDS = 20;

const CURSOR = 'A cursor of an earlier answer: go on after it. Without it, from now.';

export const FeedQuery = Type.Object({
  after: Type.Optional(
    Type.String({ maxLength: 100, description: `${CURSOR} A stream may send it as Last-Event-ID instead.` }),
  ),
  limit: Type.Integer({
    minimum: 1,
    maximum: FEED_MAX_LIMIT,
    default: 500,
    description:
      'About how many changes to answer with, as JSON. Changes that were numbered together come together, so there may be more.',
  }),
  wait: Type.Integer({
    minimum: 0,
    maximum: FEED_MAX_WAIT_SECONDS,
    default: 0,
    description: 'How long to wait for the first change, in seconds, as JSON with `after`.',
  }),
});
export type FeedQuery = Type.Static<typeof FeedQuery>;

export const FeedPage = Type.Object(
  {
    resumed: Type.Boolean({
      description: 'False: changes before `cursor` may be missing, so forget everything that you keep.',
    }),
    live: Type.Boolean({
      description: 'False: changes may be missing until it is true; until then, keep nothing.',
    }),
    at: Type.Integer({
      description:
        'Up to when the answer is complete: milliseconds from the arrival of this request, by the clock of the service; negative if before it.',
    }),
    changes: Type.Array(FeedChange),
    cursor: Type.String({ examples: ['1842.0b1f3c9e-5a58-4c1b-9d40-7f4d3c0f8a11'] }),
    more: Type.Boolean({ description: 'Whether more changes can be read at once.' }),
  },
  { title: 'FeedPage' },
);
export type FeedPage = Type.Static<typeof FeedPage>;

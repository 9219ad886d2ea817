// Schemas of webhooks: endpoints that are told what the audit log records, and what was delivered to them.
// What an event looks like is in the catalogue of events.
import Type from 'typebox';
import { resourceTypes } from '../audit/entry.ts';
import { authorship, ListEnvelope, Nullable, PageQuery, Timestamp, Uuid } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';

const MAX_PATTERNS = 200;
const MAX_RESOURCE_TYPES = 100;
/** The longest time for which a secret goes on after a new one was made: a week, in seconds. */
export const MAX_OVERLAP_SECONDS = 604_800;
/** Where the body says nothing: a day. */
export const OVERLAP_SECONDS = 86_400;
/** Entries of one replay. */
export const MAX_REPLAYED = 1_000_000;

const Pattern = Type.String({ minLength: 1, maxLength: 100, examples: ['user_created'] });
const patterns = Type.Array(Pattern, {
  minItems: 1,
  maxItems: MAX_PATTERNS,
  description:
    'Types of events: `*` for all, a type, or the beginning of some and `*`, such as `user_*`. See `GET /api/v1/webhooks/events`.',
  examples: [['user_*', 'login_failed']],
});

const fields = {
  events: patterns,
  resource_types: Type.Union(
    [Type.Array(Type.Enum([...resourceTypes]), { minItems: 1, maxItems: MAX_RESOURCE_TYPES }), Type.Null()],
    {
      description:
        'Only events about records of these types, such as `user`. Null: of every type. Default: null.',
      examples: [null],
    },
  ),
  results: Type.Enum(['all', 'failure'], {
    description: '`failure`: only what was refused or went wrong. Default: `all`.',
  }),
  personal: Type.Boolean({
    description:
      'Whether events contain names, email addresses, network addresses and user agents. Without them, events name people by their ids. Default: false.',
  }),
};

const Name = Type.String({
  minLength: 1,
  maxLength: 400,
  description: '1 to 100 characters.',
  examples: ['Billing'],
});
const Url = Type.String({
  maxLength: 4_000,
  description:
    'Where events are sent, by POST: an https address of at most 2,000 characters, without user name, password and fragment. http is for this machine and for addresses of private networks.',
  examples: ['https://billing.example.com/castellan'],
});

export const WebhookSecret = Type.Object(
  {
    id: Uuid,
    created_at: Timestamp,
    ends_at: Type.Union([Timestamp, Type.Null()], { description: 'Null: it does not end by itself.' }),
  },
  { title: 'WebhookSecret' },
);
export type WebhookSecret = Type.Static<typeof WebhookSecret>;

const Shown = Type.String({
  description: 'Shown once. It signs what is sent: `whsec_` and base64, as Standard Webhooks has it.',
  examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
});
export const NewWebhookSecret = Type.Object(
  { ...WebhookSecret.properties, secret: Type.Optional(Shown) },
  { title: 'NewWebhookSecret' },
);
export type NewWebhookSecret = Type.Static<typeof NewWebhookSecret>;

const Count = (description: string) => Type.Integer({ minimum: 0, description });

export const Webhook = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    url: Type.String(),
    ...fields,
    status: Type.Enum(['active', 'failing', 'paused'], {
      description:
        '`failing`: the last attempt failed; further ones follow by themselves. `paused`: nothing is sent until the status is set to `active`.',
    }),
    paused_reason: Type.Union([Type.Enum(['requested', 'failing', 'gone']), Type.Null()], {
      description:
        'Why it is paused. `requested`: somebody paused it. `failing`: every attempt of 24 hours failed. `gone`: the endpoint answered 410.',
    }),
    waiting: Count('Deliveries that wait. 100,000 stands for that many or more.'),
    dead: Count(
      'Deliveries that were given up and are not 30 days old. 100,000 stands for that many or more.',
    ),
    oldest_waiting_at: Type.Union([Timestamp, Type.Null()], {
      description: 'Since when the oldest waiting delivery waits.',
    }),
    last_success_at: Nullable(Timestamp),
    secrets: Type.Array(WebhookSecret, { description: 'The live ones, newest first. Each of them signs.' }),
    ...authorship,
  },
  { title: 'Webhook' },
);
export type Webhook = Type.Static<typeof Webhook>;

export const NewWebhook = Type.Object(
  { ...Webhook.properties, secret: Type.Optional(Shown) },
  { title: 'NewWebhook' },
);
export type NewWebhook = Type.Static<typeof NewWebhook>;

const optional = Type.Partial(Type.Object(fields)).properties;

export const CreateWebhookBody = Type.Object(
  { ...optional, name: Name, url: Url, events: patterns },
  { title: 'CreateWebhook' },
);
export type CreateWebhookBody = Type.Static<typeof CreateWebhookBody>;

export const UpdateWebhookBody = Type.Object(
  {
    ...optional,
    name: Type.Optional(Name),
    url: Type.Optional(Url),
    status: Type.Optional(
      Type.Enum(['active', 'paused'], {
        description:
          '`paused`: nothing is sent; events wait for up to 7 days. `active`: a single delivery is tried first, the others follow when it arrives.',
      }),
    ),
  },
  { title: 'UpdateWebhook', description: 'A list replaces the whole list.' },
);
export type UpdateWebhookBody = Type.Static<typeof UpdateWebhookBody>;

export const CreateWebhookSecretBody = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_OVERLAP_SECONDS,
        default: OVERLAP_SECONDS,
        description:
          'How long the present secrets sign besides the new one. 0 ends them at once, which is for a secret that others know.',
      }),
    ),
  },
  { title: 'CreateWebhookSecret' },
);
export type CreateWebhookSecretBody = Type.Static<typeof CreateWebhookSecretBody>;

export const TestWebhookBody = Type.Object(
  {
    type: Type.Optional(
      Type.String({
        maxLength: 100,
        description: 'The type of the sample. Default: the first that the webhook is told of.',
        examples: ['user_created'],
      }),
    ),
  },
  { title: 'TestWebhook' },
);
export type TestWebhookBody = Type.Static<typeof TestWebhookBody>;

export const DeliveryCause = Type.Enum(
  [
    'dns',
    'refused_address',
    'tls',
    'connect',
    'timeout',
    'status',
    'secret',
    'removed',
    'internal',
    'interrupted',
  ],
  {
    description:
      'Why an attempt failed. `refused_address`: Castellan does not connect to the address. `status`: the answer was no success. `secret`: SECRET_KEY does not open the secret. `removed`: the audit log no longer has the entry. `internal`: the event could not be rendered; the log says why. `interrupted`: the instance ended before the attempt did; the event may have arrived.',
  },
);
export type DeliveryCause = Type.Static<typeof DeliveryCause>;

const outcome = {
  status: Type.Union([Type.Integer(), Type.Null()], {
    description: 'The HTTP status of the answer; null if there was none.',
    examples: [503],
  }),
  cause: Type.Union([DeliveryCause, Type.Null()], { description: 'Null: it arrived.' }),
};
const Duration = Type.Integer({ minimum: 0, description: 'Milliseconds until the answer, or the failure.' });

export const WebhookTest = Type.Object({ ...outcome, ms: Duration }, { title: 'WebhookTest' });
export type WebhookTest = Type.Static<typeof WebhookTest>;

export const DeliveryState = Type.Enum(['waiting', 'sent', 'dead'], {
  description: 'dead: it was given up. Resending it makes it wait again.',
});
export type DeliveryState = Type.Static<typeof DeliveryState>;

const deliveryFields = {
  id: Type.String({ description: '`sequence` of its event.', examples: ['1207'] }),
  event_id: Type.String({ format: 'uuid', description: 'The id of the entry of the audit log.' }),
  type: Type.String({ examples: ['user_created'] }),
  state: DeliveryState,
  replay: Type.Boolean({ description: 'Whether it was queued by a replay.' }),
  attempt_count: Count('Attempts since it was queued, or last resent.'),
  ...outcome,
  created_at: Timestamp,
  next_at: Type.Union([Timestamp, Type.Null()], {
    description: 'The next attempt of one that failed. One that was not tried yet has null.',
  }),
  settled_at: Type.Union([Timestamp, Type.Null()], { description: 'When it was sent or given up.' }),
};
/** `status` and `cause` are those of the last attempt. */
export const WebhookDelivery = Type.Object(deliveryFields, { title: 'WebhookDelivery' });
export type WebhookDelivery = Type.Static<typeof WebhookDelivery>;

/** What a resend answers. */
export const ResentDelivery = Type.Object(
  {
    ...deliveryFields,
    event_id: Type.Optional(deliveryFields.event_id),
    type: Type.Optional(deliveryFields.type),
  },
  { title: 'ResentDelivery' },
);
export type ResentDelivery = Type.Static<typeof ResentDelivery>;

export const WebhookDeliveryDetail = Type.Object(
  {
    ...deliveryFields,
    payload: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()], {
      description:
        'The event as the next attempt would send it: an erasure removes personal data from it. Null if the entry was removed.',
    }),
    attempts: Type.Array(Type.Object({ at: Timestamp, ...outcome, ms: Duration }), {
      description: 'Newest first.',
    }),
  },
  { title: 'WebhookDeliveryDetail' },
);
export type WebhookDeliveryDetail = Type.Static<typeof WebhookDeliveryDetail>;

export const WebhookDeliveryQuery = Type.Object({
  state: Type.Optional(DeliveryState),
  type: Type.Optional(Type.String({ maxLength: 100, description: 'The type of the event.' })),
  from: Type.Optional(Type.String({ format: 'date-time', description: 'Queued at or after. Inclusive.' })),
  to: Type.Optional(Type.String({ format: 'date-time', description: 'Queued before. Exclusive.' })),
  size: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
  cursor: Type.Optional(
    Type.String({ pattern: '^[1-9][0-9]{0,17}$', description: '`next_cursor` of the page before.' }),
  ),
});
export type WebhookDeliveryQuery = Type.Static<typeof WebhookDeliveryQuery>;

/** Newest first. */
export const WebhookDeliveryPage = Type.Object(
  {
    data: Type.Array(WebhookDelivery),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description: 'The start of the next page; null on the last one.',
    }),
    message: Type.String(),
  },
  { title: 'WebhookDeliveryPage' },
);
export type WebhookDeliveryPage = Type.Static<typeof WebhookDeliveryPage>;

export const ReplayWebhookBody = Type.Object(
  {
    from: Type.String({
      format: 'date-time',
      description: 'Entries of the audit log from this time on, or deliveries queued from then on.',
      examples: ['2026-03-14T00:00:00Z'],
    }),
    to: Type.Optional(
      Type.String({ format: 'date-time', description: 'Before this time. Default: now.', examples: [] }),
    ),
    events: Type.Optional({
      ...patterns,
      description: 'Of the events that the webhook is told of, only these. Default: all of them.',
      examples: [['user_*']],
    }),
    only: Type.Enum(['dead', 'all'], {
      description:
        '`dead`: deliveries that were given up, which take a new place. `all`: every entry, whether or not it was delivered.',
    }),
    count_only: Type.Optional(
      Type.Boolean({ default: false, description: 'Says how many there are, and queues none of them.' }),
    ),
  },
  { title: 'ReplayWebhook' },
);
export type ReplayWebhookBody = Type.Static<typeof ReplayWebhookBody>;

export const WebhookReplay = Type.Object(
  {
    replay_id: Type.Union([Uuid, Type.Null()], { description: 'Null with `count_only`.' }),
    count: Count('How many deliveries it queues, or would queue.'),
  },
  { title: 'WebhookReplay' },
);
export type WebhookReplay = Type.Static<typeof WebhookReplay>;

export const WebhookEnvelope = DataEnvelope(Webhook);
export const NewWebhookEnvelope = DataEnvelope(NewWebhook);
export const WebhookListEnvelope = ListEnvelope(Webhook);
export const NewWebhookSecretEnvelope = DataEnvelope(NewWebhookSecret);
export const WebhookTestEnvelope = DataEnvelope(WebhookTest);
export const ResentDeliveryEnvelope = DataEnvelope(ResentDelivery);
export const WebhookDeliveryDetailEnvelope = DataEnvelope(WebhookDeliveryDetail);
export const WebhookReplayEnvelope = DataEnvelope(WebhookReplay);
export const WebhookListQuery = PageQuery;
export type WebhookListQuery = Type.Static<typeof WebhookListQuery>;
export const WebhookParams = Type.Object({ webhook_id: Uuid });
export const WebhookDeliveryParams = Type.Object({
  webhook_id: Uuid,
  delivery_id: Type.String({ format: 'int64', examples: ['1207'] }),
});

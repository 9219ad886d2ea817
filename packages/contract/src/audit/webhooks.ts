// Webhooks: audit actions, and what their entries hold in `details`.
// It must not declare a secret, nor the whole address of an endpoint, which may contain one.
import Type from 'typebox';
import { Webhook } from '../webhooks/webhooks.ts';
import type { AuditActionEntry } from './entry.ts';
import {
  changed,
  count,
  created,
  deleted,
  fieldsOf,
  flag,
  nullable,
  optional,
  text,
  texts,
  time,
  uuid,
} from './members.ts';

const { name, events, resource_types, results, personal, status } = Webhook.properties;
const webhookFields = {
  ...fieldsOf({ name, events, resource_types, results, personal, status }),
  origin: Type.String({ description: 'Of its address: scheme, host and port.' }),
};

export const webhookActions = {
  webhook_created: {
    text: 'A webhook was created. Secrets are not shown.',
    about: ['webhook'],
    details: created(webhookFields),
  },
  webhook_updated: {
    text: 'A webhook was changed, or paused by somebody. Secrets are not shown. details.url_changed: the address is another one.',
    about: ['webhook'],
    details: { ...changed(webhookFields), url_changed: optional(flag) },
  },
  webhook_deleted: {
    text: 'A webhook was deleted, with what waited for it.',
    about: ['webhook'],
    details: deleted(webhookFields),
  },
  webhook_secret_created: {
    text: 'A webhook got a further secret. details.overlap_seconds: for how long the former ones go on.',
    about: ['webhook'],
    details: { secret_id: uuid, overlap_seconds: count },
  },
  webhook_paused: {
    text: 'A webhook paused by itself. details.reason: failing (every attempt of 24 hours failed) or gone (the endpoint answered 410).',
    about: ['webhook'],
    failure: true,
    details: { reason: Type.Enum(['failing', 'gone']), failures: count, waiting: count },
  },
  webhook_resumed: {
    text: 'A paused webhook was resumed. details.reason: why it was paused.',
    about: ['webhook'],
    details: { reason: nullable(text) },
  },
  webhook_replayed: {
    text: 'Past events were queued again for a webhook: a range of them, or, with details.delivery_id, one.',
    about: ['webhook'],
    details: {
      count,
      replay_id: optional(uuid),
      from: optional(time),
      to: optional(time),
      events: optional(nullable(texts)),
      only: optional(Type.Enum(['dead', 'all'])),
      delivery_id: optional(text),
      type: optional(text),
    },
  },
  webhook_tested: {
    text: 'A sample was sent to a webhook. details: type, status, cause.',
    about: ['webhook'],
    bounded: true,
    details: { type: text, status: nullable(Type.Integer()), cause: nullable(text) },
  },
} as const satisfies Record<string, AuditActionEntry>;

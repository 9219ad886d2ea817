// The fields of a webhook: what a body makes of them, and which types of events its patterns match.
// It must not read or write the database.
import { type EventType, eventEntry, eventTypesOf, fitsAnyEvent } from '@castellan/contract/events';
import type { CreateWebhookBody, UpdateWebhookBody } from '@castellan/contract/webhooks';
import type { AddressRanges } from '../../platform/security/address-ranges.ts';
import { cleanName } from '../../platform/security/record-text.ts';
import { cleanAddress } from './address.ts';
import { refusal } from './refusal.ts';
import type { WrittenFields } from './store.ts';

/** Maximum characters of a name. The database repeats it as a CHECK constraint. */
const MAX_NAME_LENGTH = 100;

export type WebhookFields = Omit<WrittenFields, 'actions' | 'results'> & { results: 'all' | 'failure' };
type Given = Omit<UpdateWebhookBody, 'status'> | CreateWebhookBody;

export const newFields: WebhookFields = {
  name: '',
  url: '',
  events: [],
  resource_types: null,
  results: 'all',
  personal: false,
};

/** Returns the fields with those of the body in place. Throws 422: `validation_failed`, `invalid_webhook_url` or `unknown_event`. */
export function changedFields(before: WebhookFields, given: Given, deny: AddressRanges): WebhookFields {
  const { name, url, events, resource_types: types, results, personal } = given;
  return {
    name: name === undefined ? before.name : cleanName(name, MAX_NAME_LENGTH),
    url: url === undefined ? before.url : cleanAddress(url, deny),
    events: events === undefined ? before.events : cleanPatterns(events),
    resource_types: types === undefined ? before.resource_types : types && cleanTypes(types),
    results: results ?? before.results,
    personal: personal ?? before.personal,
  };
}

/** Returns the fields as they are stored: with the actions that they match now. */
export const writtenFields = (fields: WebhookFields): WrittenFields => ({
  ...fields,
  actions: actionsOf(fields),
});

export function cleanPatterns(given: readonly string[], field = 'events'): string[] {
  for (const [index, pattern] of given.entries())
    if (!fitsAnyEvent(pattern))
      throw refusal(
        `${field}.${index}`,
        'unknown_event',
        'is no type of event, and no beginning of one followed by *',
        'unknown_event',
      );
  return [...new Set(given)];
}

const cleanTypes = (given: NonNullable<Given['resource_types']>): string[] => [...new Set(given)].sort();

/** Returns the types of events that a webhook is told of, as far as patterns and results decide it. */
export const actionsOf = ({ events, results }: Pick<WebhookFields, 'events' | 'results'>): EventType[] =>
  eventTypesOf(events).filter((type) => results === 'all' || eventEntry(type).failure === true);

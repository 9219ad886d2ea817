// The fields of a webhook as the form holds them, and back.
// It must not judge them: the service does.
import type { CreateWebhook, EventDescription, UpdateWebhook, Webhook } from '@castellan/sdk';
import type { WebhookField } from '../../../data/form-fields.ts';
import { typesOf } from './event-tree.ts';

/** Lists are texts with spaces between their members. */
export type FormValues = Record<Exclude<WebhookField, 'personal'>, string> & { personal: boolean };

export const fieldNames = [
  'name',
  'url',
  'events',
  'resource_types',
  'results',
  'personal',
] as const satisfies readonly WebhookField[];

export const results = ['all', 'failure'] as const satisfies readonly Webhook['results'][];

export const emptyValues: FormValues = {
  name: '',
  url: '',
  events: '',
  resource_types: '',
  results: 'all',
  personal: false,
};

export const listIn = (text: string): string[] => text.split(' ').filter((one) => one !== '');

export const valuesOf = (webhook: Webhook): FormValues => ({
  name: webhook.name,
  url: webhook.url,
  events: webhook.events.join(' '),
  resource_types: (webhook.resource_types ?? []).join(' '),
  results: webhook.results,
  personal: webhook.personal,
});

type ResourceType = NonNullable<Webhook['resource_types']>[number];

/** `known` are the types that a choice can have. */
const typesIn = (text: string, known: readonly ResourceType[]): ResourceType[] | null => {
  const chosen = new Set(listIn(text));
  return chosen.size === 0 ? null : known.filter((one) => chosen.has(one));
};

const isResult = (text: string): text is Webhook['results'] => results.some((one) => one === text);

/** Every field of the body: a new one is a compile error here. */
const wholeBodyOf = (values: FormValues, known: readonly ResourceType[]) =>
  ({
    name: values.name,
    url: values.url.trim(),
    events: listIn(values.events),
    resource_types: typesIn(values.resource_types, known),
    results: isResult(values.results) ? values.results : 'all',
    personal: values.personal,
  }) satisfies Record<WebhookField, unknown>;

export const newBodyOf = (values: FormValues, known: readonly ResourceType[]): CreateWebhook =>
  wholeBodyOf(values, known);

export const changedNames = (from: FormValues, to: FormValues): WebhookField[] =>
  fieldNames.filter((name) => from[name] !== to[name]);

/** Returns only what differs, so that a change of the name needs no more than that. */
export function bodyOf(from: FormValues, to: FormValues, known: readonly ResourceType[]): UpdateWebhook {
  const whole = wholeBodyOf(to, known);
  return Object.fromEntries(changedNames(from, to).map((name) => [name, whole[name]]));
}

/** The types of records that any event is about, in order. */
export const resourceTypesIn = (catalogue: readonly EventDescription[]): ResourceType[] =>
  [...new Set(catalogue.flatMap(({ resource_types }) => resource_types))].sort();

/** Returns the types of events that a webhook with these fields is told of. */
export function toldOf(
  { events, resource_types, results: wanted }: Pick<FormValues, 'events' | 'resource_types' | 'results'>,
  catalogue: readonly EventDescription[],
): string[] {
  const matching = new Set(
    typesOf(
      listIn(events),
      catalogue.map(({ type }) => type),
    ),
  );
  const about = listIn(resource_types);
  return catalogue.flatMap(({ type, result, resource_types: possible }) =>
    matching.has(type) &&
    (wanted === 'all' || result === 'failure') &&
    (about.length === 0 || possible.some((one) => about.includes(one)))
      ? [type]
      : [],
  );
}

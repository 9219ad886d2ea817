// What the API says about the types of events. The schemas that it shows are made in catalogue.ts.
import Type from 'typebox';
import { resourceTypes } from '../audit/entry.ts';
import { DataEnvelope } from '../http/envelope.ts';
import { EventName } from './catalogue.ts';

const JsonObject = (description: string, example: object) =>
  Type.Object({}, { additionalProperties: true, description, examples: [example] });

export const EventDescription = Type.Object(
  {
    type: EventName,
    version: Type.Integer({
      description:
        'Of the meaning of the members. They are only ever added within a version; another meaning is a new one.',
      examples: [1],
    }),
    description: Type.String({ examples: ['A role was created.'] }),
    result: Type.Enum(['success', 'failure'], { description: 'As `results` of a webhook names it.' }),
    resource_types: Type.Array(Type.Enum([...resourceTypes]), {
      description: 'The types of records that it can be about.',
      examples: [['role']],
    }),
    schema: JsonObject(
      'JSON Schema (2020-12) of the whole event. `x-personal` marks the members that only endpoints with `personal` get.',
      { type: 'object', properties: { type: { const: 'role_created' } } },
    ),
    sample: JsonObject('An event as an endpoint with `personal` gets it.', { type: 'role_created' }),
  },
  { title: 'EventDescription' },
);
export type EventDescription = Type.Static<typeof EventDescription>;

export const EventDescriptionsEnvelope = DataEnvelope(Type.Array(EventDescription));

// The types of events: every audit action, and what happens without an entry in the audit log. Their schemas, and the patterns that
// choose among them. It must not name a member of an action: audit does.
import Type, { type TSchema } from 'typebox';
import type { AuditActionEntry, ResourceType } from '../audit/entry.ts';
import { commonMembers, leftOutMembers, type Members, PERSONAL, text, uuid } from '../audit/members.ts';
import { auditActionCatalogue } from '../audit.ts';

/** Events that are no audit actions: nobody did them, and they change nothing. */
const furtherEvents = {
  audit_log_sealed: {
    about: ['audit_log'],
    text: 'The audit log was sealed up to a new head. details: origin, the name of the log; seals, how many it has; root, the hash of their tree in Base64; checkpoint, the signed note.',
    details: {
      origin: text,
      seals: Type.Integer({ minimum: 0 }),
      root: text,
      checkpoint: text,
    },
  },
} as const satisfies Record<string, AuditActionEntry>;

export const eventCatalogue = { ...auditActionCatalogue, ...furtherEvents } as const;

export type EventType = keyof typeof eventCatalogue;
export const isEventType = (name: string): name is EventType => Object.hasOwn(eventCatalogue, name);
export const eventTypes: readonly EventType[] = Object.keys(eventCatalogue).filter(isEventType);

/** What the catalogue says about a type. */
export const eventEntry = (type: EventType): AuditActionEntry => eventCatalogue[type];

/** The version of the meaning of its details. */
export const versionOf = (type: EventType): number => eventEntry(type).version ?? 1;

/** Which types of records its entries can be about. */
export const aboutOf = (type: EventType): readonly ResourceType[] =>
  eventEntry(type).about ?? ['security_event'];

export const EventName = Type.Enum([...eventTypes], {
  description: 'An audit action, or what no entry records.',
});

/** All types, one of them, or those that begin with a text: `role_*`. */
export const EventPattern = Type.String({
  pattern: '^(\\*|[a-z][a-z0-9_]*|[a-z][a-z0-9_]*_\\*)$',
  maxLength: 100,
  description: 'A type, the beginning of types such as `role_*`, or `*` for all.',
  examples: ['user_*'],
});

const fits = (type: EventType, pattern: string): boolean =>
  pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;

/** Returns the types that fit one of the patterns, in the order of the catalogue. */
export const eventTypesOf = (patterns: readonly string[]): EventType[] =>
  eventTypes.filter((type) => patterns.some((pattern) => fits(type, pattern)));

/** Returns whether the pattern fits any type. */
export const fitsAnyEvent = (pattern: string): boolean => eventTypes.some((type) => fits(type, pattern));

/** Returns the schema of `details` in an entry of the type. Members that it does not name may be added. */
export function entryDetails(type: EventType): TSchema {
  const { bounded, details } = eventEntry(type);
  const own: Members = bounded
    ? { ...Type.Partial(Type.Object({ ...details })).properties, ...leftOutMembers }
    : details;
  return Type.Object({ ...own, ...commonMembers });
}

const isPersonal = (schema: TSchema): boolean => PERSONAL in schema;

/** Returns the schema of `details` in an event of the type, which has personal members only where an endpoint asks for them. */
export function eventDetails(type: EventType): TSchema {
  const { properties } = Type.Object({ ...eventEntry(type).details });
  const open = Object.entries(properties).map(([name, schema]): [string, TSchema] => [
    name,
    isPersonal(schema) || eventEntry(type).bounded ? Type.Optional(schema) : schema,
  ]);
  return Type.Object({
    ...Object.fromEntries(open),
    ...(eventEntry(type).bounded ? leftOutMembers : {}),
    ...commonMembers,
  });
}

const actor = Type.Object({
  type: Type.Enum(['user', 'service_account']),
  id: uuid,
  name: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description: 'The name of a service account at that time; null for users. Personal.',
      [PERSONAL]: 'sender',
    }),
  ),
  email: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description: 'The email of a user at that time. Personal.',
      [PERSONAL]: 'sender',
    }),
  ),
});

const resourceOf = (types: readonly ResourceType[]) =>
  Type.Object({
    type: Type.Enum([...types]),
    id: Type.String({ description: 'Empty where the entry is about no record, such as an unknown email.' }),
    name: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: 'The email of a user, the name of any other record, at that time. Personal.',
        [PERSONAL]: 'subject',
      }),
    ),
  });

/** Returns the schema of the events of a type, as endpoints get them. */
export const eventSchema = (type: EventType) =>
  Type.Object({
    type: Type.Literal(type),
    timestamp: Type.String({ format: 'date-time', description: 'When it happened. ISO 8601, UTC.' }),
    data: Type.Object({
      id: Type.String({ format: 'uuid', description: 'The id of the entry in the audit log.' }),
      version: Type.Literal(versionOf(type)),
      sequence: Type.Integer({
        minimum: 0,
        description: 'Rises with each event of an endpoint. Events of one record arrive in its order.',
      }),
      replay: Type.Boolean({
        description: 'Whether the event was sent again because a replay was asked for.',
      }),
      test: Type.Optional(Type.Literal(true, { description: 'Only in a test: nothing has happened.' })),
      actor: Type.Union([actor, Type.Null()], { description: 'Who did it; null where nobody is known.' }),
      acted_by_id: Type.Optional(
        Type.String({
          format: 'uuid',
          description: 'The user who acted as the actor; absent where nobody did.',
        }),
      ),
      resource: resourceOf(aboutOf(type)),
      details: eventDetails(type),
    }),
  });

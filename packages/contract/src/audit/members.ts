// The schemas that the members of `details` are declared with, and the mark of those that are personal data.
// It must not name an action.
import Type, { type TSchema } from 'typebox';
import { AttributeValues } from '../attributes/user-attributes.ts';
import { userFields } from '../users.ts';

/** Whose data a personal member is: of the sender of the request, or of the person whom the entry is about. */
export type Whose = 'sender' | 'subject';

/** The keyword that marks a personal member, in a schema of JSON Schema. Its value is a `Whose`. */
export const PERSONAL = 'x-personal';

/** What an erasure leaves in the place of personal data. So every schema of a personal member takes a text. */
export const ERASED = 'erased';

/** Members of `details` by name. Required, unless they are `optional`. */
export type Members = Readonly<Record<string, TSchema>>;

const ofSubject = { [PERSONAL]: 'subject' } as const satisfies Record<string, Whose>;
const ofSender = { [PERSONAL]: 'sender' } as const satisfies Record<string, Whose>;

export const optional = Type.Optional;
export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const text = Type.String();
export const texts = Type.Array(Type.String());
export const uuid = Type.String({ format: 'uuid' });
export const uuids = Type.Array(uuid);
export const time = Type.String({ format: 'date-time' });
export const count = Type.Integer({ minimum: 0 });
export const flag = Type.Boolean();

/** Personal texts of the person whom the entry is about. */
export const personal = Type.String(ofSubject);
export const personalOrNull = Type.Union([Type.String(), Type.Null()], ofSubject);
/** Where a request came from. */
export const senderText = Type.String(ofSender);
export const senderTextOrNull = Type.Union([Type.String(), Type.Null()], ofSender);
export const userAgent = Type.Union([Type.String(), Type.Null()], {
  ...ofSender,
  description: 'The header User-Agent.',
});

/** Values of user attributes; of a sensitive one, `…`. */
export const attributes = Type.Union([AttributeValues, Type.Literal(ERASED)], ofSubject);

/** Members of every entry of a request, and of its actor. An entry without a request has none of them. */
export const commonMembers: Members = {
  address: optional(Type.String({ ...ofSender, description: 'Client address.' })),
  request_id: optional(text),
  key_id: optional(
    Type.String({ format: 'uuid', description: 'The API key that the actor signed in with.' }),
  ),
  token_id: optional(
    Type.String({ format: 'uuid', description: 'The personal access token that the actor acted with.' }),
  ),
};

/** Only in entries that stand for others: see `bounded`. */
export const leftOutMembers: Members = {
  more_left_out: optional(
    Type.Integer({
      minimum: 1,
      description: 'The entry stands for that many more, and has no other member of its action but `email`.',
    }),
  ),
};

/** The change was made at the command line, or, where it says so, by an identity provider. */
export const via = optional(text);

/** A record before or after a change, with the fields that differ. */
const recordOf = (fields: Members) => Type.Partial(Type.Object({ ...fields }));
const noRecord = Type.Null();

/** What changed. */
export const changed = (fields: Members): Members => ({ before: recordOf(fields), after: recordOf(fields) });
/** What was created. At the command line, there is no `before`. */
export const created = (fields: Members): Members => ({
  before: optional(noRecord),
  after: recordOf(fields),
});
export const deleted = (fields: Members): Members => ({ before: recordOf(fields), after: noRecord });
/** What was deleted. The entry of an erasure does not keep it. */
export const deletedOrErased = (fields: Members): Members => ({
  before: optional(recordOf(fields)),
  after: optional(noRecord),
});

// What describes a field, or limits what may be written to it, says nothing about a change of it.
const structure: ReadonlySet<string> = new Set([
  'type',
  'format',
  'const',
  'enum',
  'anyOf',
  'items',
  'properties',
  'required',
  'additionalProperties',
  'patternProperties',
]);

/** Returns the schema with its structure alone. */
function bare(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(bare);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword]) => structure.has(keyword))
      .map(([keyword, value]) => [keyword, mapsNames.has(keyword) ? bareValues(value) : bare(value)]),
  );
}
/** Keywords whose members are named by the schema, not by JSON Schema. */
const mapsNames: ReadonlySet<string> = new Set(['properties', 'patternProperties']);
const bareValues = (map: object): unknown =>
  Object.fromEntries(Object.entries(map).map(([name, schema]) => [name, bare(schema)]));

/** Fields of a record of the API, as an entry about a change of it has them. */
export const fieldsOf = (properties: Members): Members =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, Type.Unsafe(bare(schema) ?? {})]),
  );

const { created_at, updated_at, ...fields } = userFields;

/** The fields of a user: who somebody is is personal, what their account may do is not. */
export const userMembers: Members = {
  ...fieldsOf(fields),
  email: personal,
  first_name: personal,
  last_name: personal,
  external_id: personalOrNull,
  attributes,
  roles: Type.Array(Type.String(), { description: 'Names of roles.' }),
};

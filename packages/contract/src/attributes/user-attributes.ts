// Schemas of user attributes: the catalogue of declared ones, and the values of users.
import Type from 'typebox';
import { authorship, DescriptionInput, ListEnvelope, PageQueryWith, Uuid } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';

/** The most attributes that can be declared. */
export const MAX_ATTRIBUTES = 100;
/** The most that the values of one user take, as JSON in UTF-8: 16 KiB. */
export const MAX_VALUES_BYTES = 16_384;
/** The longest string that an attribute can allow, in characters. The database repeats it as a CHECK constraint. */
export const MAX_STRING_LENGTH = 4_000;
export const DEFAULT_STRING_LENGTH = 250;
/** The most values of an enum. The database repeats it as a CHECK constraint. */
export const MAX_ENUM_VALUES = 100;
export const MAX_ENUM_VALUE_LENGTH = 100;
/** The most conditions on attributes in one list of users. */
export const MAX_ATTRIBUTE_FILTERS = 5;

export const attributeTypes = [
  'string',
  'number',
  'integer',
  'boolean',
  'date',
  'url',
  'enum',
  'json',
] as const;
export type AttributeType = (typeof attributeTypes)[number];

export const selfAccesses = ['none', 'read', 'write'] as const;
export type SelfAccess = (typeof selfAccesses)[number];

const Label = Type.String({
  minLength: 1,
  maxLength: 400,
  description: 'What forms call it: 1 to 100 characters.',
  examples: ['Cost center'],
});

const flags = {
  unique: Type.Boolean({
    description:
      'No two users have the same value; strings are compared ignoring case. Not for `json`. Default: false.',
    examples: [false],
  }),
  searchable: Type.Boolean({
    description: 'Whether lists of users can be filtered by it. Not for `json`. Default: false.',
    examples: [false],
  }),
  self: Type.Enum([...selfAccesses], {
    description:
      'What users do with their own value. With `none`, the attribute does not exist for them. Default: `none`.',
    examples: ['read'],
  }),
  required: Type.Boolean({
    description:
      'Whether writes of administrators are refused that leave a user without a value. It refuses no sign-in. Default: false.',
    examples: [false],
  }),
  claims: Type.Boolean({
    description:
      'Whether introspection with `include=attributes` and the scope `profile` of OpenID Connect tell it, under its name. Default: false.',
    examples: [false],
  }),
  sensitive: Type.Boolean({
    description: 'Whether the audit log has `…` in place of its values. Default: false.',
    examples: [false],
  }),
};

const values = {
  values: Type.Union(
    [Type.Array(Type.String({ maxLength: 400 }), { maxItems: MAX_ENUM_VALUES }), Type.Null()],
    {
      description: `What an \`enum\` allows: 1 to ${MAX_ENUM_VALUES} texts of 1 to ${MAX_ENUM_VALUE_LENGTH} characters. Null for other types.`,
      examples: [null],
    },
  ),
  max_length: Type.Union([Type.Integer({ minimum: 1, maximum: MAX_STRING_LENGTH }), Type.Null()], {
    description: `The longest \`string\`, in characters. Default: ${DEFAULT_STRING_LENGTH}. Null for other types.`,
    examples: [40],
  }),
};

const Name = Type.String({
  pattern: '^[a-z][a-z0-9_]{0,49}$',
  description: 'Never changes. Names of claims that a standard defines are refused (`reserved_name`).',
  examples: ['cost_center'],
});
const AttributeTypeInput = Type.Enum([...attributeTypes], {
  description: 'Never changes.',
  examples: ['string'],
});

export const UserAttribute = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    label: Type.String(),
    description: Type.String(),
    type: Type.Enum([...attributeTypes]),
    ...values,
    ...flags,
    ...authorship,
  },
  { title: 'UserAttribute' },
);
export type UserAttribute = Type.Static<typeof UserAttribute>;

const inputs = Type.Partial(Type.Object({ description: DescriptionInput, ...values, ...flags })).properties;

export const CreateUserAttributeBody = Type.Object(
  { name: Name, label: Label, type: AttributeTypeInput, ...inputs },
  { title: 'CreateUserAttribute' },
);
export type CreateUserAttributeBody = Type.Static<typeof CreateUserAttributeBody>;

export const UpdateUserAttributeBody = Type.Object(
  {
    name: Type.Optional(Name),
    type: Type.Optional(AttributeTypeInput),
    label: Type.Optional(Label),
    ...inputs,
  },
  {
    title: 'UpdateUserAttribute',
    description: '`name` and `type` are refused unless they are what they were.',
  },
);
export type UpdateUserAttributeBody = Type.Static<typeof UpdateUserAttributeBody>;

export const UserAttributeEnvelope = DataEnvelope(UserAttribute);
export const UserAttributeListEnvelope = ListEnvelope(UserAttribute);
export const UserAttributeParams = Type.Object({ attribute_id: Uuid });
export const UserAttributeListQuery = PageQueryWith({});
export const DeleteUserAttributeQuery = Type.Object({
  force: Type.Optional(
    Type.Boolean({ description: 'True removes the values of users with it. Default: false.' }),
  ),
});
export type DeleteUserAttributeQuery = Type.Static<typeof DeleteUserAttributeQuery>;

/** Values by the names of their attributes. Only declared attributes that have a value. */
export const AttributeValues = Type.Record(Type.String(), Type.Unknown(), {
  description: 'By name. An attribute without a value is absent.',
  examples: [{ cost_center: '4711' }],
});
export type AttributeValues = Record<string, unknown>;
export const AttributeValuesEnvelope = DataEnvelope(AttributeValues);

/** What users are told of an attribute that exists for them. */
export const OwnAttribute = Type.Pick(
  UserAttribute,
  ['name', 'label', 'description', 'type', 'values', 'max_length', 'self'],
  { title: 'OwnAttribute' },
);
export type OwnAttribute = Type.Static<typeof OwnAttribute>;

export const OwnAttributesQuery = Type.Object({
  include: Type.Optional(
    Type.Literal('definitions', {
      description: 'Adds what the attributes are, also those without a value.',
    }),
  ),
});
export const OwnAttributesEnvelope = Type.Object({
  data: AttributeValues,
  definitions: Type.Optional(Type.Array(OwnAttribute, { description: 'With `include=definitions`.' })),
  message: Type.String({ description: 'A sentence for people.' }),
});

export const PatchAttributesBody = Type.Record(Type.String(), Type.Unknown(), {
  title: 'PatchAttributes',
  description:
    'A merge patch (RFC 7396): what it does not name stays, null removes a value, and objects within a `json` are merged.',
  examples: [{ cost_center: '4711', badge: null }],
});

/** Of a new user. */
export const NewAttributes = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Values of attributes, by name: see `/api/v1/user-attributes`.',
  examples: [{}],
});

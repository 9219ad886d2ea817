// Schemas that several resources share: ids, timestamps, email and name inputs.
// Limits are defined here once; the database repeats them as CHECK constraints.
import Type, { type TProperties, type TSchema } from 'typebox';

/** Requests may use any letter case; responses use lower case. */
export const Uuid = Type.String({ format: 'uuid' });

export const Timestamp = Type.String({ format: 'date-time', description: 'ISO 8601, UTC.' });

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** Any text. The server decides whether it is a valid email when it canonicalizes it. */
export const EmailInput = Type.String({
  description:
    'Compared in lower case, without surrounding spaces. Both spellings of an internationalized domain (`ada@münchen.example`, `ada@xn--mnchen-3ya.example`) are the same email.',
  examples: ['ada@example.com'],
});

/** Any text, so that the password policy reports a wrong length together with the other broken rules. */
export const PasswordInput = Type.String({ description: 'A new password must meet the password policy.' });

/** 1 to 100 characters of any script, after normalization. The server refuses markup and control characters. */
export const FirstNameInput = Type.String({
  minLength: 1,
  maxLength: 400,
  description: '1 to 100 characters of any script, no markup.',
  examples: ['Ada'],
});

/** Up to 100 characters. Empty for people with a single name. */
export const LastNameInput = Type.String({
  maxLength: 400,
  description: 'At most 100 characters of any script, no markup. Empty for people with a single name.',
  examples: ['Lovelace'],
});

/** Maximum ids in one request, to bound the work of a request. */
export const MAX_IDS = 1_000;
export const UuidList = Type.Array(Uuid, { maxItems: MAX_IDS });

/** Names of roles, groups and permissions: unique, ignoring case. */
export const NameInput = (example: string, maxLength = 250) =>
  Type.String({
    minLength: 1,
    maxLength: maxLength * 4,
    description: `1 to ${maxLength} characters; unique, ignoring case.`,
    examples: [example],
  });
/** The id that another system gave to a user or a service account. */
export const ExternalId = Type.Union([Type.String(), Type.Null()], {
  description: 'The id that another system gave to the record. Decisions find it by this id, too.',
});
export const ExternalIdInput = Type.Union([Type.String({ minLength: 1, maxLength: 1_000 }), Type.Null()], {
  description:
    '1 to 250 characters; unique, in its case. Not in the form of a UUID or an email, as which it would be read. Null: none.',
  examples: ['crm-4711'],
});

export const DescriptionInput = Type.String({ maxLength: 4_000, description: 'At most 1,000 characters.' });

const pageFields = {
  page: Type.Integer({ minimum: 1, maximum: 1_000_000_000, default: 1 }),
  size: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
};
/** Query parameters of every list. */
export const PageQuery = Type.Object(pageFields);
export const PageQueryWith = <T extends TProperties>(more: T) => Type.Object({ ...pageFields, ...more });
export type PageQuery = Type.Static<typeof PageQuery>;

/** The pagination of lists of roles, groups and permissions. */
export const Pagination = Type.Object(
  { page: Type.Integer(), limit: Type.Integer(), total: Type.Integer(), pages: Type.Integer() },
  { title: 'Pagination' },
);
export type Pagination = Type.Static<typeof Pagination>;

/** A list: `data` is an array, with `pagination` next to it. */
export const ListEnvelope = <T extends TSchema>(item: T) =>
  Type.Object({ data: Type.Array(item), pagination: Pagination, message: Type.String() });

/** Who created a record, when, and when it last changed. */
export const authorship = {
  created_at: Timestamp,
  updated_at: Timestamp,
  created_by_id: Type.Union([Uuid, Type.Null()]),
};

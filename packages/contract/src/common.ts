// Building blocks that more than one noun uses: ids, timestamps, e-mail and name inputs.
// Limits stand here once; the database repeats them as CHECK constraints.
import Type, { type TProperties, type TSchema } from 'typebox';

/** Any case is accepted on the way in; answers carry lower case. */
export const Uuid = Type.String({ format: 'uuid' });

export const Timestamp = Type.String({ format: 'date-time', description: 'ISO 8601, UTC.' });

/** Shape only: whether it is an address that can be used is the server's canonicaliser's business. */
export const EmailInput = Type.String({
  description: 'Compared in lower case, without surrounding spaces.',
  examples: ['ada@example.com'],
});

/** Any text: one that is too short or too long is refused by the policy, with its other broken rules. */
export const PasswordInput = Type.String({ description: 'A new one must meet the password policy.' });

/** 1 to 100 characters of any script; markup and control characters are refused. */
export const PersonNameInput = (example: string) =>
  Type.String({
    minLength: 1,
    maxLength: 400,
    description: '1 to 100 characters of any script; no markup.',
    examples: [example],
  });

/** Ids one request may name. More is refused with this number (bounded work per request). */
export const MAX_IDS = 1_000;
export const UuidList = Type.Array(Uuid, { maxItems: MAX_IDS });

/** Names of roles, groups and permissions: unique without regard to case. */
export const NameInput = (example: string, maxLength = 250) =>
  Type.String({
    minLength: 1,
    maxLength: maxLength * 4,
    description: `1 to ${maxLength} characters, unique without regard to case.`,
    examples: [example],
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

/** Lists of roles, groups and permissions. */
export const Pagination = Type.Object(
  { page: Type.Integer(), limit: Type.Integer(), total: Type.Integer(), pages: Type.Integer() },
  { title: 'Pagination' },
);
export type Pagination = Type.Static<typeof Pagination>;

/** `data` is an array, `pagination` stands beside it. */
export const ListEnvelope = <T extends TSchema>(item: T) =>
  Type.Object({ data: Type.Array(item), pagination: Pagination, message: Type.String() });

/** Who made a record, when, and when it last changed. */
export const authorship = {
  created_at: Timestamp,
  updated_at: Timestamp,
  created_by_id: Type.Union([Uuid, Type.Null()]),
};
